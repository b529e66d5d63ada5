// Package anyvalue says what an interface holds: whether it is nil, and what to call it in
// messages.
//
// It stands on the standard library alone. Above it is all of manager.
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

// Name is what a value is called in messages: what its String method says, or its type without the
// package that is given, which may be empty.
func Name(value any, pkg string) string {
	if named, ok := value.(fmt.Stringer); ok {
		return named.String()
	}
	name := fmt.Sprintf("%T", value)
	if pkg == "" {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "*"), pkg+".")
}

// FunctionName is like "main.podsOf", or "main.setUp.func1" for a function without a name. That of
// a nil function is empty.
func FunctionName(function any) string {
	name := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
	return name[strings.LastIndexByte(name, '/')+1:]
}
