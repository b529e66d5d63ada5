// Bug: a value of another type is left as it is.
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
	_, wasObject := raw.(map[string]any)
	_, wasList := raw.([]any)
	_, isObject := after.(map[string]any)
	_, isList := after.([]any)
	if wasObject && isList || wasList && isObject {
		return d
	}
	return d.add("replace", path, after)
}
