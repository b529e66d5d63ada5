// Package anyvalue says what an interface holds: whether it's nil, and its name for messages.
//
// Neighbours: below it is only the standard library. Above it is all of manager.
package anyvalue

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// IsNil reports whether an interface is nil, or holds a nil pointer, function or the like. Only the
// first is equal to nil in Go; calling a method of the second usually panics.
func IsNil(value any) bool {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}

// Name is the value's name in messages: its String method's answer, or its type without the given
// package, which may be empty.
func Name(value any, pkg string) string {
	if named, ok := value.(fmt.Stringer); ok {
		return named.String()
	}
	name := TypeName(value)
	if pkg == "" {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "*"), pkg+".")
}

// TypeName is the type of a value, as %T prints it. If a type of this library has an alias, it's
// the alias: predicate.TypedFuncs[client.Object], with the path of the client, is predicate.Funcs.
func TypeName(value any) string {
	name, t := fmt.Sprintf("%T", value), reflect.TypeOf(value)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg, typed, ok := strings.Cut(name, ".Typed")
	if !ok || !strings.HasPrefix(t.PkgPath(), "github.com/loopwright/loopwright/manager/") {
		return name
	}
	short, _, _ := strings.Cut(typed, "[")
	return pkg + "." + short
}

// FunctionName is like "main.podsOf", or "main.setUp.func1" for a function without a name. For a
// nil function it's empty.
func FunctionName(function any) string {
	name := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
	return name[strings.LastIndexByte(name, '/')+1:]
}
