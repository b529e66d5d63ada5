package main

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/loopwright/loopwright/internal/migrate"
)

// places says where both sides are, and which import path of theirs becomes which of ours.
type places struct {
	migrate.Paths
	object, request string // what non-Typed names have in the place of type parameters
}

// pairs knows which type of theirs is which of ours.
//
// Most are found by their name. But controller-runtime's Funcs is an alias of
// TypedFuncs[client.Object, reconcile.Request], and a signature may have either of the two; so
// there is a table from what an alias stands for to what we have under the alias's name.
type pairs struct {
	places
	loaded  map[string]*types.Package
	aliases typeutil.Map      // from a type of theirs, without aliases, to []types.Type of ours
	short   *strings.Replacer // writes the aliases instead of what they stand for
	object  [2]types.Type     // theirs and ours, or nil
	request [2]types.Type
}

func newPairs(p places, loaded map[string]*types.Package, compared []string) *pairs {
	w := &pairs{places: p, loaded: loaded}
	var short []string
	for _, importPath := range compared {
		scope := loaded[importPath].Scope()
		for _, name := range scope.Names() {
			theirs, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || !theirs.Exported() || !theirs.IsAlias() {
				continue
			}
			if alias, ok := theirs.Type().(*types.Alias); ok && alias.TypeParams().Len() > 0 {
				continue
			}
			target := types.Unalias(theirs.Type())
			if long := typeString(target); strings.Contains(long, "Typed") {
				short = append(short, long, theirs.Pkg().Name()+"."+name)
			}
			if ours, ok := w.ours(theirs).(*types.TypeName); ok {
				known, _ := w.aliases.At(target).([]types.Type)
				w.aliases.Set(target, append(known, types.Unalias(ours.Type())))
			}
		}
	}
	w.short = strings.NewReplacer(short...)
	w.object, w.request = w.both(p.object), w.both(p.request)
	return w
}

// ours returns what we have under the name of one of their declarations, or nil.
func (w *pairs) ours(theirs types.Object) types.Object {
	if theirs.Pkg() == nil {
		return nil
	}
	importPath, ok := w.Counterpart(theirs.Pkg().Path())
	if !ok || w.loaded[importPath] == nil || !theirs.Exported() {
		return nil
	}
	return w.loaded[importPath].Scope().Lookup(theirs.Name())
}

// both looks a type of theirs and ours up, given as path.Name.
func (w *pairs) both(name string) (both [2]types.Type) {
	dot := strings.LastIndex(name, ".")
	if dot < 0 || w.loaded[name[:dot]] == nil {
		return both
	}
	theirs := w.loaded[name[:dot]].Scope().Lookup(name[dot+1:])
	if theirs == nil || w.ours(theirs) == nil {
		return both
	}
	return [2]types.Type{theirs.Type(), w.ours(theirs).Type()}
}

// known reports whether a type of theirs has a name that a user can write, in a package that is
// here.
func (w *pairs) known(name *types.TypeName) bool {
	importPath, ok := w.Counterpart(name.Pkg().Path())
	return ok && name.Exported() && w.loaded[importPath] != nil
}

// write is how the report shows a type.
func (w *pairs) write(t types.Type) string { return w.short.Replace(typeString(t)) }

func typeString(t types.Type) string {
	return types.TypeString(t, (*types.Package).Name)
}
