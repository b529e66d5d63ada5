// Bug: a list that differs is replaced as a whole.
package admission

func (d differ) value(path string, raw, before, after any) differ {
	switch after := after.(type) {
	case map[string]any:
		if raw, same := raw.(map[string]any); same {
			before, _ := before.(map[string]any)
			return d.object(path, raw, before, after)
		}
	}
	return d.add("replace", path, after)
}
