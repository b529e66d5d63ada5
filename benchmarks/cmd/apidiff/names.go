package main

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
)

// compareNames lists how a declaration of ours differs from theirs.
func (w *pairs) compareNames(theirs, ours types.Object) (differences []difference, added []string) {
	whole := func(format string, arguments ...any) []difference {
		return []difference{{"", fmt.Sprintf(format, arguments...)}}
	}
	switch theirs := theirs.(type) {
	case *types.Const:
		ours, ok := ours.(*types.Const)
		switch {
		case !ok:
			return whole("a constant there, and none here"), nil
		case !w.same(theirs.Type(), ours.Type()):
			return whole("a constant of type `%s` there, and of type `%s` here", w.write(theirs.Type()), w.write(ours.Type())), nil
		case !constant.Compare(theirs.Val(), token.EQL, ours.Val()):
			return whole("%s there, %s here", theirs.Val(), ours.Val()), nil
		}
	case *types.TypeName:
		ours, ok := ours.(*types.TypeName)
		if !ok {
			return whole("a type there, and none here"), nil
		}
		return w.compareDeclaredTypes(theirs, ours)
	default: // a function, or a variable that may hold one: whoever calls it does not mind which
		switch ours.(type) {
		case *types.Func, *types.Var:
		default:
			return whole("a %s there, and none here", kind(theirs)), nil
		}
		if _, ok := theirs.Type().Underlying().(*types.Signature); !ok && kind(theirs) != kind(ours) {
			return whole("a %s there, a %s here", kind(theirs), kind(ours)), nil
		}
		a, aGeneric := theirs.Type().(*types.Signature)
		b, bGeneric := ours.Type().(*types.Signature)
		if aGeneric && bGeneric && a.TypeParams().Len()+b.TypeParams().Len() > 0 {
			return w.compareGenericFunctions(a, b), nil
		}
		if !w.same(theirs.Type(), ours.Type()) {
			return []difference{w.changed("", theirs.Type(), ours.Type())}, nil
		}
	}
	return nil, nil
}

func kind(object types.Object) string {
	switch object.(type) {
	case *types.Func:
		return "function"
	case *types.Var:
		return "variable"
	case *types.Const:
		return "constant"
	}
	return "type"
}

// compareGenericFunctions gives our function the type parameters of theirs. If theirs has a Typed
// type of its own type parameters in its signature, that cannot be the same, and what counts
// is what the two are for the objects and requests of programs that mention no Typed name.
func (w *pairs) compareGenericFunctions(theirs, ours *types.Signature) []difference {
	if texts := w.compareParameters(theirs.TypeParams(), ours.TypeParams()); texts != nil {
		return texts
	}
	own := parameters(theirs.TypeParams())
	if generic := instantiateSignature(ours, own); generic != nil && w.same(plain(theirs), generic) {
		return nil
	}
	there, here := w.usual(theirs.TypeParams())
	a, b := instantiateSignature(theirs, there), instantiateSignature(ours, here)
	if a == nil || b == nil || !w.same(a, b) {
		return []difference{w.changed("", theirs, ours)}
	}
	return nil
}

func (w *pairs) compareDeclaredTypes(theirs, ours *types.TypeName) (differences []difference, added []string) {
	there, here := typeParameters(theirs.Type()), typeParameters(ours.Type())
	if there.Len()+here.Len() == 0 {
		return w.compareTypes(theirs.Type(), ours.Type())
	}
	if differences := w.compareParameters(there, here); differences != nil {
		return differences, nil
	}
	own := parameters(there)
	differences, added = w.compareTypes(list(theirs.Type(), own), list(ours.Type(), own))
	if len(differences) == 0 {
		return nil, added
	}
	theirArguments, ourArguments := w.usual(there)
	if usual, added := w.compareTypes(list(theirs.Type(), theirArguments), list(ours.Type(), ourArguments)); len(usual) == 0 {
		return nil, added
	}
	return differences, added
}

// compareParameters compares the numbers of type parameters, because a caller may write type
// arguments, and what they are constrained by.
func (w *pairs) compareParameters(theirs, ours *types.TypeParamList) []difference {
	if theirs.Len() != ours.Len() {
		return []difference{{"", fmt.Sprintf("type parameters: %d there, %d here", theirs.Len(), ours.Len())}}
	}
	for i := range theirs.Len() {
		a, b := theirs.At(i).Constraint(), ours.At(i).Constraint()
		if !w.same(a, b) && !types.Identical(b, types.Universe.Lookup("any").Type()) {
			return []difference{{"", fmt.Sprintf("type parameter %d is `%s` there, `%s` here", i+1, w.write(a), w.write(b))}}
		}
	}
	return nil
}

// usual returns the type arguments of programs that mention no Typed name: client.Object for an
// object, and reconcile.Request for a request. On both sides, or nil if there are none.
func (w *pairs) usual(theirs *types.TypeParamList) (there, here []types.Type) {
	for i := range theirs.Len() {
		both := w.object
		if types.Identical(theirs.At(i).Constraint(), types.Universe.Lookup("comparable").Type()) {
			both = w.request
		}
		if both[0] == nil {
			return nil, nil
		}
		there, here = append(there, both[0]), append(here, both[1])
	}
	return there, here
}

func typeParameters(t types.Type) *types.TypeParamList {
	if generic, ok := t.(interface{ TypeParams() *types.TypeParamList }); ok {
		return generic.TypeParams()
	}
	return nil
}

func parameters(of *types.TypeParamList) (found []types.Type) {
	for i := range of.Len() {
		found = append(found, of.At(i))
	}
	return found
}

func list(t types.Type, arguments []types.Type) types.Type {
	if done, err := types.Instantiate(nil, t, arguments, false); err == nil && len(arguments) > 0 {
		return done
	}
	return t
}

func instantiateSignature(s *types.Signature, arguments []types.Type) types.Type {
	if len(arguments) == 0 {
		return nil
	}
	done, err := types.Instantiate(nil, s, arguments, false)
	if err != nil {
		return nil
	}
	return done
}

// plain is a signature without the declaration of its type parameters.
func plain(s *types.Signature) types.Type {
	return types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
}
