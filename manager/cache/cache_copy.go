package cache

import (
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// copyTo makes a deep copy of an object of the store, at the place that a reader has for it. Both are
// pointers to one Go type.
//
// Generated types have a DeepCopyInto, which does that, but in no interface, because its parameter is of the type itself.
// DeepCopyObject makes a new object, which is then copied to its place and thrown away. So the method is looked up
// by its name, once for each type. A call through reflection costs less than what it saves.
//
// A type that has both methods from a type inside it cannot be copied.
func copyTo(to, from reflect.Value) error {
	copier := copierOf(from.Type())
	if !copier.IsValid() {
		copied := reflect.ValueOf(from.Interface().(runtime.Object).DeepCopyObject())
		if copied.Type() != to.Type() {
			return fmt.Errorf("the method DeepCopyObject of a %s makes a %s", from.Type(), copied.Type())
		}
		to.Elem().Set(copied.Elem())
		return nil
	}
	arguments := [...]reflect.Value{from, to}
	copier.Call(arguments[:])
	return nil
}

var copiers sync.Map // from reflect.Type to reflect.Value

// copierOf is the DeepCopyInto of a pointer type, or nothing if it has none for its own type: one that it has from
// an embedded type would leave out the rest.
func copierOf(t reflect.Type) reflect.Value {
	if known, ok := copiers.Load(t); ok {
		return known.(reflect.Value)
	}
	var copier reflect.Value
	if method, ok := t.MethodByName("DeepCopyInto"); ok {
		if f := method.Type; f.NumIn() == 2 && f.In(1) == t && f.NumOut() == 0 {
			copier = method.Func
		}
	}
	copiers.Store(t, copier)
	return copier
}
