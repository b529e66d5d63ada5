// Bug: the fields come in a random order.
package admission

import (
	"maps"
	"slices"
)

func (d differ) object(path string, raw, before, after map[string]any) differ {
	for _, name := range slices.Collect(maps.Keys(after)) {
		old, there := raw[name]
		if !there {
			d = d.add("add", below(path, name), after[name])
		} else if !equal(old, after[name]) {
			d = d.value(below(path, name), old, before[name], after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		_, stays := after[name]
		_, known := before[name]
		if !stays && known {
			d = d.add("remove", below(path, name), nil)
		}
	}
	return d
}
