// Bug: names with a slash or a tilde are not escaped.
package admission

import (
	"maps"
	"slices"
)

func (d differ) object(path string, raw, before, after map[string]any) differ {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		old, there := raw[name]
		if !there {
			d = d.add("add", path+"/"+name, after[name])
		} else if !equal(old, after[name]) {
			d = d.value(path+"/"+name, old, before[name], after[name])
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
