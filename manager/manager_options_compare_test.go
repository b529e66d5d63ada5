package manager

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// hidden are the paths of unexported fields in a struct and the structs in it. What a nil pointer would lead to is not there.
func hidden(t reflect.Type, path string) (paths []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			return []string{path}
		}
		below := field.Name
		if path != "" {
			below = path + "." + field.Name
		}
		paths = append(paths, hidden(field.Type, below)...)
	}
	return paths
}

// Programs test how they read their configuration by comparing Options with go-cmp, which panics at an unexported field. They
// tell it to ignore those of controller-runtime's Options, and know of no others.
func TestOptionsCanBeComparedByWhoeverComparesThoseOfControllerRuntime(t *testing.T) {
	require.Equal(t, []string{"Client.Log", "Logger", "Metrics.ListenConfig", "Controller.Logger"}, hidden(reflect.TypeFor[Options](), ""))
}
