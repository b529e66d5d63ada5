package migrate

import "fmt"

// mover decides which imports are replaced.
//
// Packages of controller-runtime always are, if they are here. Of those that are client-go's, programs use
// different halves: what meets a controller (a queue, a rate limiter, an event handler), and what stands for
// itself (informers and reflectors made by hand). If the files of a Go package use a name that we do not have,
// they use the second half, and all of them stay with client-go for that import: its types are not ours, so
// half a package cannot move.
type mover struct {
	paths Paths
	stay  map[string]string // directory and import path to the first name that keeps it
	notes []Problem         // what stays, and why
}

func newMover(files []*file, paths Paths) *mover {
	m := &mover{paths: paths, stay: map[string]string{}}
	for _, f := range files {
		for _, i := range f.imports {
			if i.from.Ours == "" {
				at := f.position(i.spec.Pos())
				if len(i.uses) > 0 {
					at = i.uses[0].at // imports may get another order
				}
				m.notes = append(m.notes, Problem{At: at, What: "package " + i.from.Theirs, Why: "it stays: " + i.from.Why})
				continue
			}
			if m.paths.IsTheirs(i.from.Theirs) {
				continue
			}
			for _, u := range i.uses {
				if m.stay[f.key(i)] != "" || i.from.missing(u.name) == "" {
					continue
				}
				m.stay[f.key(i)] = u.name
				m.notes = append(m.notes, Problem{At: u.at, What: i.as + "." + u.name,
					Why: fmt.Sprintf("this directory stays with %s: %s", i.from.Theirs, i.from.missing(u.name))})
			}
		}
	}
	return m
}

func (f *file) key(i imported) string { return f.dir + " " + i.from.Theirs }

func (m *mover) moves(f *file, i imported) bool {
	return i.from.Ours != "" && m.stay[f.key(i)] == ""
}

// problems lists what a person has to look at in a file.
func (m *mover) problems(f *file) (found []Problem) {
	for _, i := range f.imports {
		if !m.moves(f, i) {
			continue
		}
		for _, u := range i.uses {
			if why := i.from.missing(u.name); why != "" {
				found = append(found, Problem{At: u.at, What: i.as + "." + u.name, Why: why})
			} else if lack := i.from.lacks(u.name); lack != nil {
				found = append(found, Problem{At: u.at, What: i.as + "." + u.name, Why: lack.Why, Compiles: true})
			}
		}
	}
	return found
}
