package main

import "go/types"

// same reports whether a type of theirs is the same as one of ours, as far as a user's program can
// tell. Type parameters are the same if they are identical: who compares two generic
// declarations gives ours the type parameters of theirs.
func (w *pairs) same(theirs, ours types.Type) bool { return w.sameIn(theirs, ours, nil) }

// sameIn does so with a list of pairs that are taken to be the same because somebody up the stack
// is comparing them: types refer to themselves.
func (w *pairs) sameIn(theirs, ours types.Type, open []pair) bool {
	theirs, ours = types.Unalias(theirs), types.Unalias(ours)
	if types.Identical(theirs, ours) {
		return true
	}
	others, _ := w.aliases.At(theirs).([]types.Type)
	for _, t := range others {
		if types.Identical(t, ours) {
			return true
		}
	}
	switch theirs := theirs.(type) {
	case *types.Named:
		ours, ok := ours.(*types.Named)
		return ok && w.sameNamed(theirs, ours, open)
	case *types.Pointer:
		ours, ok := ours.(*types.Pointer)
		return ok && w.sameIn(theirs.Elem(), ours.Elem(), open)
	case *types.Slice:
		ours, ok := ours.(*types.Slice)
		return ok && w.sameIn(theirs.Elem(), ours.Elem(), open)
	case *types.Array:
		ours, ok := ours.(*types.Array)
		return ok && theirs.Len() == ours.Len() && w.sameIn(theirs.Elem(), ours.Elem(), open)
	case *types.Map:
		ours, ok := ours.(*types.Map)
		return ok && w.sameIn(theirs.Key(), ours.Key(), open) && w.sameIn(theirs.Elem(), ours.Elem(), open)
	case *types.Chan:
		ours, ok := ours.(*types.Chan)
		return ok && theirs.Dir() == ours.Dir() && w.sameIn(theirs.Elem(), ours.Elem(), open)
	case *types.Signature:
		ours, ok := ours.(*types.Signature)
		return ok && theirs.Variadic() == ours.Variadic() &&
			w.sameTuple(theirs.Params(), ours.Params(), open, w.secret) && w.sameTuple(theirs.Results(), ours.Results(), open, nothing)
	case *types.Struct:
		ours, ok := ours.(*types.Struct)
		return ok && w.sameStruct(theirs, ours, open)
	case *types.Interface:
		ours, ok := ours.(*types.Interface)
		return ok && w.sameInterface(theirs, ours, open)
	}
	return false
}

type pair struct{ theirs, ours types.Type }

func (w *pairs) sameNamed(theirs, ours *types.Named, open []pair) bool {
	if theirs.Origin() == ours.Origin() { // borrowed by both, or one side was given the other's arguments
		return w.sameArguments(theirs.TypeArgs(), ours.TypeArgs(), open)
	}
	if name, ok := w.ours(theirs.Obj()).(*types.TypeName); ok {
		named, ok := types.Unalias(instantiate(name.Type(), theirs.TypeArgs())).(*types.Named)
		return ok && named.Origin() == ours.Origin() && w.sameArguments(named.TypeArgs(), ours.TypeArgs(), open)
	}
	if theirs.Obj().Pkg() == nil || !w.rewritten(theirs) || w.known(theirs.Obj()) {
		return false // somebody else's type, or one that we have under its name
	}
	// A user cannot write its name, or its package is not here yet. What counts is what one can do
	// with it.
	for _, p := range open {
		if types.Identical(p.theirs, theirs) && types.Identical(p.ours, ours) {
			return true
		}
	}
	return w.sameUse(theirs, ours, append(open, pair{theirs, ours}))
}

// rewritten reports whether a type is declared in one of their packages, internal ones included.
func (w *pairs) rewritten(theirs *types.Named) bool {
	_, ok := w.Counterpart(theirs.Obj().Pkg().Path())
	return ok
}

func (w *pairs) sameArguments(theirs, ours *types.TypeList, open []pair) bool {
	if theirs.Len() != ours.Len() {
		return false
	}
	for i := range theirs.Len() {
		if !w.sameIn(theirs.At(i), ours.At(i), open) {
			return false
		}
	}
	return true
}

// sameTuple compares parameters or results, but for those that are secret on both sides.
func (w *pairs) sameTuple(theirs, ours *types.Tuple, open []pair, secret func(types.Type) bool) bool {
	if theirs.Len() != ours.Len() {
		return false
	}
	for i := range theirs.Len() {
		a, b := theirs.At(i).Type(), ours.At(i).Type()
		if !w.sameIn(a, b, open) && !(secret(a) && secret(b)) {
			return false
		}
	}
	return true
}

// secret reports whether a user can neither write a type nor make a value of it: it is what the
// functions take that are options to be passed on.
func (w *pairs) secret(t types.Type) bool {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && !named.Obj().Exported()
}

func nothing(types.Type) bool { return false }

func (w *pairs) sameStruct(theirs, ours *types.Struct, open []pair) bool {
	if theirs.NumFields() != ours.NumFields() {
		return false
	}
	for i := range theirs.NumFields() {
		a, b := theirs.Field(i), ours.Field(i)
		if a.Name() != b.Name() || a.Embedded() != b.Embedded() || !w.sameIn(a.Type(), b.Type(), open) {
			return false
		}
	}
	return true
}

func (w *pairs) sameInterface(theirs, ours *types.Interface, open []pair) bool {
	if theirs.NumMethods() != ours.NumMethods() || theirs.IsComparable() != ours.IsComparable() || theirs.IsMethodSet() != ours.IsMethodSet() {
		return false
	}
	for i := range theirs.NumMethods() { // both are sorted by name
		a, b := theirs.Method(i), ours.Method(i)
		if a.Name() != b.Name() || !w.sameIn(a.Type(), b.Type(), open) {
			return false
		}
	}
	return theirs.IsMethodSet() || theirs.NumEmbeddeds() == ours.NumEmbeddeds()
}

// sameUse compares two types by what one can do with them: everything that is possible with
// theirs must be possible with ours.
func (w *pairs) sameUse(theirs, ours *types.Named, open []pair) bool {
	a, b := theirs.Underlying(), ours.Underlying()
	if _, ok := a.(*types.Struct); !ok {
		if !w.sameIn(a, b, open) {
			return false
		}
	} else if _, ok := b.(*types.Struct); !ok {
		return false
	}
	for name, field := range fields(a) {
		if other := fields(b)[name]; other == nil || !w.sameIn(field.Type(), other.Type(), open) {
			return false
		}
	}
	there, here := methods(theirs), methods(ours)
	if !types.IsInterface(a) {
		there, here = methods(types.NewPointer(theirs)), methods(types.NewPointer(ours))
	}
	for name, method := range there {
		if other, ok := here[name]; !ok || !w.sameIn(method.Type(), other.Type(), open) {
			return false
		}
	}
	return true
}

// instantiate gives a generic type its arguments. Any other type is returned as it is, and so is
// one that wants a different number of them.
func instantiate(t types.Type, arguments *types.TypeList) types.Type {
	generic, ok := t.(interface{ TypeParams() *types.TypeParamList })
	if !ok || arguments.Len() == 0 || generic.TypeParams().Len() != arguments.Len() {
		return t
	}
	list := make([]types.Type, arguments.Len())
	for i := range list {
		list[i] = arguments.At(i)
	}
	done, err := types.Instantiate(nil, t, list, false)
	if err != nil {
		return t
	}
	return done
}
