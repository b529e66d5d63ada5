// Package reference decides how a log line shows a Kubernetes object: not in full, but by its kind
// and name.
//
// Neighbours: below it are the API types. Above it are package log, for slog, and package log/zap.
package reference

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Field is one part of a reference.
type Field struct{ Key, Value string }

var objectType = reflect.TypeFor[runtime.Object]()

// Of returns the reference to log in place of a value, and false if the value is no object. For a
// nil pointer to an object the reference has no fields. A list is no object here.
func Of(value any) ([]Field, bool) {
	switch v := value.(type) {
	case types.NamespacedName:
		return named(nil, v.Namespace, v.Name), true
	case runtime.Object:
		return object(v)
	}
	// An object without a pointer to it, such as an item of a list, doesn't have the methods.
	t := reflect.TypeOf(value)
	if t == nil || t.Kind() != reflect.Struct || !reflect.PointerTo(t).Implements(objectType) {
		return nil, false
	}
	pointer := reflect.New(t)
	pointer.Elem().Set(reflect.ValueOf(value))
	return object(pointer.Interface().(runtime.Object))
}

func object(obj runtime.Object) ([]Field, bool) {
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, true
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, false // a list, for instance
	}
	var fields []Field
	// An object from a typed client has no kind in it.
	if gvk := obj.GetObjectKind().GroupVersionKind(); gvk.Version != "" {
		fields = append(fields, Field{"apiVersion", gvk.GroupVersion().String()},
			Field{"kind", gvk.Kind})
	}
	return named(fields, m.GetNamespace(), m.GetName()), true
}

func named(fields []Field, namespace, name string) []Field {
	if namespace != "" {
		fields = append(fields, Field{"namespace", namespace})
	}
	return append(fields, Field{"name", name})
}
