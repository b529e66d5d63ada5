package main

import "go/types"

// mentions collects the types of packages outside theirs that have a counterpart here, and that a
// user meets in the exported declarations of theirs.
type mentions struct {
	*pairs
	names map[*types.TypeName]bool
}

func (m *mentions) inDeclaration(theirs types.Object) {
	name, ok := theirs.(*types.TypeName)
	if !ok {
		m.in(theirs.Type())
		return
	}
	m.inside(types.Unalias(name.Type()))
}

// inside visits what a declared type consists of.
func (m *mentions) inside(t types.Type) {
	m.in(t.Underlying())
	for _, method := range methods(types.NewPointer(t)) {
		m.in(method.Type())
	}
}

// in visits a type in a signature.
func (m *mentions) in(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		for argument := range t.TypeArgs().Types() {
			m.in(argument)
		}
		name := t.Origin().Obj()
		if name.Pkg() == nil || m.names[name] || m.loaded[name.Pkg().Path()] == nil {
			return
		}
		if _, borrowed := m.Moved[name.Pkg().Path()]; borrowed && name.Exported() && !m.IsTheirs(name.Pkg().Path()) {
			m.names[name] = true
			m.inside(t.Origin())
		}
	case *types.Map:
		m.in(t.Key())
		m.in(t.Elem())
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		m.in(t.Elem())
	case *types.Signature:
		m.inTuple(t.Params())
		m.inTuple(t.Results())
	case *types.Struct:
		for _, f := range fields(t) {
			m.in(f.Type())
		}
	case *types.Interface:
		for method := range t.Methods() {
			m.in(method.Type())
		}
	}
}

func (m *mentions) inTuple(t *types.Tuple) {
	for v := range t.Variables() {
		m.in(v.Type())
	}
}
