package migrate

import "slices"

// offer is a choice that a ported program has here, and that nobody would look for.
type offer struct {
	names map[string][]string // theirs that lead to it, by import path; nil is every name
	text  string
}

var offers = []offer{{
	names: map[string][]string{
		"sigs.k8s.io/controller-runtime":             {"NewManager", "Options"},
		"sigs.k8s.io/controller-runtime/pkg/manager": {"New", "Options"},
	},
	text: "`Strict: true` in the Options of the manager turns on what is safer here than there: see docs/porting.md",
}, {
	names: map[string][]string{"sigs.k8s.io/controller-runtime/pkg/client/fake": nil},
	text:  "calls of NewClientBuilder are followed by LikeControllerRuntime, so that the fake client does what the original's does: leave it out of new tests, see docs/porting.md",
}}

// offered returns a note for each offer, at the first place that leads to it.
func offered(files []*file) (notes []Problem) {
	for _, o := range offers {
		if at, ok := o.first(files); ok {
			notes = append(notes, at)
		}
	}
	return notes
}

func (o offer) first(files []*file) (Problem, bool) {
	for _, f := range files {
		for _, i := range f.imports {
			names, ok := o.names[i.from.Theirs]
			if !ok {
				continue
			}
			for _, u := range i.uses {
				if names == nil || slices.Contains(names, u.name) {
					return Problem{At: u.at, What: i.as + "." + u.name, Why: o.text}, true
				}
			}
		}
	}
	return Problem{}, false
}
