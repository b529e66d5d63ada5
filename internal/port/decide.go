package port

import (
	"fmt"
	"go/token"
	"strings"
)

// mover decides which imports are replaced.
//
// Packages of controller-runtime always are, if they are here. Of those that are client-go's, programs use
// different halves: what meets a controller (a queue, a rate limiter, an event handler), and what stands for
// itself (informers and reflectors made by hand). If the files of a Go package use a name that we do not have,
// they use the second half, and all of them stay with client-go for that import: its types are not ours, so
// half a package cannot move.
type mover struct {
	paths Paths
	stay  map[string]string // directory and import path to the name that keeps it
}

func newMover(files []*file, paths Paths) *mover {
	m := &mover{paths: paths, stay: map[string]string{}}
	for _, f := range files {
		for _, i := range f.imports {
			if m.paths.IsTheirs(i.from.Theirs) || i.from.Ours == "" {
				continue
			}
			for _, u := range i.uses {
				if i.from.missing(u.name) != "" {
					m.stay[f.dir+" "+i.from.Theirs] = u.name
				}
			}
		}
	}
	return m
}

func (m *mover) moves(f *file, i imported) bool {
	return i.from.Ours != "" && m.stay[f.dir+" "+i.from.Theirs] == ""
}

// problems lists what a person has to look at in a file.
func (m *mover) problems(f *file) (found []Problem) {
	add := func(at token.Position, what, why string) {
		found = append(found, Problem{At: at, What: what, Why: why})
	}
	for _, i := range f.imports {
		at := f.position(i.spec.Pos())
		switch {
		case i.from.Ours == "":
			add(at, "package "+i.from.Theirs, i.from.Why)
			continue
		case i.as == ".":
			add(at, "import . "+i.spec.Path.Value, "the names that the file uses of it were not compared")
		case !m.moves(f, i):
			add(at, "package "+i.from.Theirs, fmt.Sprintf("it stays, because %s has no %s", shortened(i.from.Ours), m.stay[f.dir+" "+i.from.Theirs]))
		}
		for _, u := range i.uses {
			if why := i.from.missing(u.name); why != "" {
				add(u.at, i.as+"."+u.name, why)
			} else if lack := i.from.lacks(u.name); lack != nil {
				found = append(found, Problem{At: u.at, What: i.as + "." + u.name, Why: lack.Why, Compiles: true})
			}
		}
	}
	return found
}

// shortened is how a message names one of our packages.
func shortened(importPath string) string {
	return strings.TrimPrefix(importPath, ControllerRuntime.OurRoot+"/")
}
