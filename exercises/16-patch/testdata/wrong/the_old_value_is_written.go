// Bug: the old value is written again.
package admission

func (d differ) value(path string, raw, before, after any) differ {
	switch after := after.(type) {
	case map[string]any:
		if raw, same := raw.(map[string]any); same {
			before, _ := before.(map[string]any)
			return d.object(path, raw, before, after)
		}
	case []any:
		if raw, same := raw.([]any); same {
			before, _ := before.([]any)
			return d.list(path, raw, before, after)
		}
	}
	return d.add("replace", path, raw)
}
