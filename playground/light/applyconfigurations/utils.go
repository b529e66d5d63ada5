// Package applyconfigurations takes the place of client-go's, of which the in-memory API server needs
// the schemas of the built-in kinds: half a megabyte of YAML. Without them, field ownership is deduced
// from the objects, as it is for custom resources.
package applyconfigurations

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// NewTypeConverter returns a converter that deduces schemas.
func NewTypeConverter(*runtime.Scheme) managedfields.TypeConverter {
	return managedfields.NewDeducedTypeConverter()
}
