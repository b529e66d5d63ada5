// Package requestname has the names of requests of any type in logs and in the flight recorder.
//
// Neighbours: below it is reconcile, for the request that names an object. Above it are handlers
// and controllers, whose requests may be of a program's own type.
package requestname

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// Of returns the namespace and name of the object that a request names, or is. If a struct has more
// in it than a reconcile.Request, the name is everything but the namespace. Any other request's
// name is its text, and it has no namespace. Of takes a pointer because a struct in an interface is
// a copy on the heap.
func Of[request comparable](of *request) (namespace, name string) {
	switch r := any(of).(type) {
	case *reconcile.Request:
		return r.Namespace, r.Name
	case *types.NamespacedName:
		return r.Namespace, r.Name
	}
	return ofOther(*of)
}

// ofOther calls methods of a program's types. If one panics, the request's name is its type:
// otherwise the panic would crash the program.
func ofOther(request any) (namespace, name string) {
	defer func() {
		if recover() != nil {
			namespace, name = "", fmt.Sprintf("%T", request)
		}
	}()
	if key, rest, ok := embedded(request); ok {
		if text := fmt.Sprint(request); text != key.String() {
			return key.Namespace, text // it has a String method of its own
		}
		return key.Namespace, strings.Join(append([]string{key.Name}, rest...), " ")
	}
	object, ok := request.(interface {
		GetNamespace() string
		GetName() string
	})
	if ok && !anyvalue.IsNil(object) {
		return object.GetNamespace(), object.GetName()
	}
	return "", fmt.Sprint(request)
}

// embedded finds a reconcile.Request or a name that a struct embeds, and the struct's other fields.
func embedded(request any) (key types.NamespacedName, rest []string, ok bool) {
	v := reflect.ValueOf(request)
	if v.Kind() != reflect.Struct {
		return key, nil, false
	}
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous && field.Type == reflect.TypeFor[reconcile.Request]() {
			value = value.Field(0) // its name
		}
		if field.Anonymous && value.Type() == reflect.TypeFor[types.NamespacedName]() {
			key.Namespace, key.Name = value.Field(0).String(), value.Field(1).String()
			ok = true
			continue
		}
		rest = append(rest, fmt.Sprintf("%s=%v", field.Name, value))
	}
	return key, rest, ok
}
