package main

import (
	"fmt"
	"go/types"
	"maps"
	"reflect"
	"slices"
)

// difference is one way in which ours is not theirs. The member is a field or method, or empty if
// the difference concerns the whole.
type difference struct{ member, text string }

// compareTypes lists the differences of two named types, and the fields and methods that exist
// only here. A method that only our interface has is a difference: a type of the user's that
// implements theirs does not implement ours.
func (w *pairs) compareTypes(theirs, ours types.Type) (differences []difference, added []string) {
	theirs, ours = types.Unalias(theirs), types.Unalias(ours)
	if types.Identical(theirs, ours) {
		return nil, nil
	}
	a, b := theirs.Underlying(), ours.Underlying()
	switch a := a.(type) {
	case *types.Interface:
		ours, ok := b.(*types.Interface)
		if !ok {
			return []difference{{"", "an interface there, and none here"}}, nil
		}
		return w.compareInterfaces(a, ours), nil
	case *types.Struct:
		if _, ok := b.(*types.Struct); !ok {
			return []difference{{"", "a struct there, and none here"}}, nil
		}
		differences, added = w.compareFields(fields(a), fields(b))
		if types.Comparable(a) && !types.Comparable(b) {
			differences = append(differences, difference{"", "can be compared with == there, and cannot here"})
		}
	default:
		if !w.same(a, b) {
			differences = append(differences, difference{"", fmt.Sprintf("`%s` there, `%s` here", w.write(a), w.write(b))})
		}
	}
	more, methods := w.compareMethods(theirs, ours)
	return append(differences, more...), append(added, methods...)
}

func (w *pairs) compareInterfaces(theirs, ours *types.Interface) (differences []difference) {
	there, here := methods(theirs), methods(ours)
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if here[name] == nil {
			differences = append(differences, difference{name, "a method that is missing"})
		} else if !w.same(there[name].Type(), here[name].Type()) {
			differences = append(differences, w.changed(name, there[name].Type(), here[name].Type()))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if there[name] == nil {
			differences = append(differences, difference{name, "only our interface demands it"})
		}
	}
	switch {
	case hidden(ours) && !hidden(theirs):
		differences = append(differences, difference{"", "only this package can implement it"})
	case theirs.IsComparable() != ours.IsComparable() || theirs.IsMethodSet() != ours.IsMethodSet():
		differences = append(differences, difference{"", fmt.Sprintf("`%s` there, `%s` here", w.write(theirs), w.write(ours))})
	}
	return differences
}

// hidden reports whether an interface has a method that is not exported.
func hidden(i *types.Interface) bool {
	for method := range i.Methods() {
		if !method.Exported() {
			return true
		}
	}
	return false
}

func (w *pairs) compareFields(theirs, ours map[string]*field) (differences []difference, added []string) {
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		a, b := theirs[name], ours[name]
		switch {
		case b == nil:
			differences = append(differences, difference{name, "a field that is missing"})
		case !w.same(a.Type(), b.Type()):
			differences = append(differences, w.changed(name, a.Type(), b.Type()))
		case a.Embedded() != b.Embedded():
			differences = append(differences, difference{name, "embedded on one side only"})
		case a.tag != b.tag:
			differences = append(differences, difference{name, fmt.Sprintf("tag `%s` there, `%s` here", a.tag, b.tag)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if theirs[name] == nil {
			added = append(added, name)
		}
	}
	return differences, added
}

// compareMethods compares what can be called on a value and on a pointer. A method that needs a
// pointer here and none there is a difference: values would no longer implement interfaces.
func (w *pairs) compareMethods(theirs, ours types.Type) (differences []difference, added []string) {
	there, here := methods(types.NewPointer(theirs)), methods(types.NewPointer(ours))
	onValueThere, onValueHere := methods(theirs), methods(ours)
	for _, name := range slices.Sorted(maps.Keys(there)) {
		switch {
		case here[name] == nil:
			differences = append(differences, difference{name, "a method that is missing"})
		case !w.same(there[name].Type(), here[name].Type()):
			differences = append(differences, w.changed(name, there[name].Type(), here[name].Type()))
		case onValueThere[name] != nil && onValueHere[name] == nil:
			differences = append(differences, difference{name, "a method of values there, and of pointers only here"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if there[name] == nil {
			added = append(added, name)
		}
	}
	return differences, added
}

func (w *pairs) changed(member string, theirs, ours types.Type) difference {
	return difference{member, fmt.Sprintf("`%s` there, `%s` here", w.write(theirs), w.write(ours))}
}

// field is a field with its tag.
type field struct {
	*types.Var
	tag reflect.StructTag
}

// fields are the exported fields of a struct; other types have none.
func fields(t types.Type) map[string]*field {
	found := map[string]*field{}
	if s, ok := t.(*types.Struct); ok {
		for i := range s.NumFields() {
			if f := s.Field(i); f.Exported() {
				found[f.Name()] = &field{f, reflect.StructTag(s.Tag(i))}
			}
		}
	}
	return found
}

// methods are the exported methods of a type, promoted ones included.
func methods(t types.Type) map[string]*types.Selection {
	found := map[string]*types.Selection{}
	set := types.NewMethodSet(t)
	for i := range set.Len() {
		if method := set.At(i); method.Obj().Exported() {
			found[method.Obj().Name()] = method
		}
	}
	return found
}
