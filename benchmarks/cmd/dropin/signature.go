package main

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// writer writes types of theirs as the drop-in's, and notes what has to be imported for them.
type writer struct {
	*pkg
	imports map[string]string // from import path to the name that the text uses
	// ownTypes says to write our types where theirs has client-go's.
	ownTypes bool
}

// errNoName is the error for a type that has no name outside of its package.
var errNoName = errors.New("it has no name outside of its package")

// qualified matches a name that go/types has written with the path of its package.
var qualified = regexp.MustCompile(`‹([^›]*)›\.(\w+)`)

// version matches names of packages such as v1 and v1beta1.
var version = regexp.MustCompile(`^v\d`)

// write writes a type. It fails if the type has a part that nobody outside of their packages can name.
func (w *writer) write(t types.Type) (text string, err error) {
	long := types.TypeString(t, func(p *types.Package) string { return "‹" + p.Path() + "›" })
	text = qualified.ReplaceAllStringFunc(long, func(name string) string {
		parts := qualified.FindStringSubmatch(name)
		in, of := w.public(parts[1], parts[2])
		if !token.IsExported(of) || w.module.hidden(in) {
			err = fmt.Errorf("%s.%s: %w", in, of, errNoName)
			return name
		}
		if in == w.path {
			return of
		}
		return w.imported(in) + "." + of
	})
	return text, err
}

// public returns the public name of a type that has one in another package than its own, as
// envtest.Etcd of an internal package. A name in the package that is written comes first.
func (w *writer) public(in, of string) (string, string) {
	if counterpart, moved := w.paths.Moved[in]; moved && w.ownTypes && !w.paths.IsTheirs(in) &&
		w.loaded[counterpart] != nil && w.loaded[counterpart].Scope().Lookup(of) != nil {
		return counterpart, of
	}
	if !w.module.hidden(in) {
		return in, of
	}
	for _, importPath := range append([]string{w.path}, w.module.theirs...) {
		scope := w.loaded[importPath].Scope()
		for _, name := range scope.Names() {
			alias, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || !alias.Exported() || !alias.IsAlias() {
				continue
			}
			named, ok := types.Unalias(alias.Type()).(*types.Named)
			if ok && named.TypeArgs().Len() == 0 && named.Obj().Name() == of && named.Obj().Pkg().Path() == in {
				return importPath, name
			}
		}
	}
	return in, of
}

// imported returns the name under which the file imports a package: its own, or with its parent's
// in front if that says nothing, as in metav1, or if another import has that name.
func (w *writer) imported(importPath string) string {
	name, known := w.names[importPath]
	if !known {
		name = w.loaded[importPath].Name()
		if version.MatchString(name) || slices.Contains(slices.Collect(maps.Values(w.names)), name) {
			name = strings.ReplaceAll(path.Base(path.Dir(importPath)), "-", "") + name
		}
		w.names[importPath] = name
	}
	w.imports[importPath] = name
	return name
}
