package migrate

// moves reports whether an import is replaced: each is, if the package is here.
func (i imported) moves() bool { return i.from.Ours != "" }

// notes lists the imports of a file that are not replaced, and those that are and need a look.
func (f *file) notes() (notes []Problem) {
	for _, i := range f.imports {
		if i.as == "." && i.from.Theirs == theirFakes {
			notes = append(notes, Problem{At: f.position(i.spec.Pos()), What: "import . " + i.spec.Path.Value,
				Why: "calls without the name of the package are not found: put LikeControllerRuntime behind NewClientBuilder by hand"})
		}
		if i.moves() {
			continue
		}
		at := f.position(i.spec.Pos())
		if len(i.uses) > 0 {
			at = i.uses[0].at // imports may get another order
		}
		notes = append(notes, Problem{At: at, What: "package " + i.from.Theirs, Why: "it stays: " + i.from.Why})
	}
	return notes
}

// problems lists what a person has to look at in a file.
func (f *file) problems() (found []Problem) {
	for _, i := range f.imports {
		if !i.moves() {
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
