// Bug: an object that differs is replaced as a whole.
package admission

func (d differ) value(path string, raw, before, after any) differ {
	switch after := after.(type) {
	case []any:
		if raw, same := raw.([]any); same {
			before, _ := before.([]any)
			return d.list(path, raw, before, after)
		}
	}
	return d.add("replace", path, after)
}
