package drift

import "path"

// Kind is what has become of a declaration.
type Kind int

const (
	Changed Kind = iota
	Removed
	Moved
	Added
)

func (k Kind) String() string { return [...]string{"changed", "removed", "moved", "added"}[k] }

// Change is a declaration that is not what it was.
type Change struct {
	Name string
	Kind Kind
	// File is where a declaration that Moved is now, or where one that was Added has been before; else it is empty.
	File string
	// Before and After are the code, empty where there is none. They differ for a declaration that Moved only if it was changed, too.
	Before, After string

	differs bool
}

// Differs reports whether what the code does may have changed: it was not only moved.
func (c Change) Differs() bool { return c.differs }

// goPackage is the declarations of a package by file, without those of tests.
type goPackage map[string][]declaration

// compare returns what has become of the declarations of one file, in the order of the old file, and then what is new
// in it. before and after are its package in both versions. far looks in the rest of the new version for a
// declaration that the package does not have any more; it may be nil.
func compare(file string, before, after goPackage, far func(old declaration) (file string, now declaration, ok bool),
) []Change {
	var changes []Change
	for _, old := range before[file] {
		now, here := find(after[file], old.Name)
		c := Change{Name: old.Name, Before: old.Code, After: now.Code, differs: !here || old.tokens != now.tokens}
		switch {
		case here && !c.differs:
			continue
		case here:
			c.Kind = Changed
		default:
			c.Kind = Removed
			place, now, ok := elsewhere(after, old.Name)
			if !ok && far != nil {
				place, now, ok = far(old)
			}
			if ok {
				c.Kind, c.File, c.After, c.differs = Moved, place, now.Code, old.tokens != now.tokens
			}
		}
		changes = append(changes, c)
	}
	for _, now := range after[file] {
		if _, known := find(before[file], now.Name); known {
			continue
		}
		c := Change{Name: now.Name, Kind: Added, After: now.Code, differs: true}
		if place, old, ok := elsewhere(before, now.Name); ok {
			c.File, c.Before, c.differs = place, old.Code, old.tokens != now.tokens
		}
		changes = append(changes, c)
	}
	return changes
}

// elsewhere finds a name in a package, where it is not in the file that is compared. If build constraints choose between
// several files, it is the first by name.
func elsewhere(p goPackage, name string) (place string, found declaration, ok bool) {
	for file, declarations := range p {
		if d, has := find(declarations, name); has && (!ok || file < place) {
			place, found, ok = file, d, true
		}
	}
	return place, found, ok
}

// isSame decides whether a declaration of another package may be the old one: it has the same code, or its file kept its name
// while it moved to another directory. A name alone proves nothing, because many packages have a New.
func isSame(old declaration, oldFile string, now declaration, nowFile string) bool {
	return old.Name == now.Name && (old.tokens == now.tokens || path.Base(oldFile) == path.Base(nowFile))
}
