package client

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ApplyConfigurationFromUnstructured makes something to apply from an unstructured object, which
// gets the server's answer.
//
// The object should be written by hand, or be the answer to an earlier Apply. One that was made
// from a Go type has zero values that nobody meant, and they would be applied.
func ApplyConfigurationFromUnstructured(u *unstructured.Unstructured) runtime.ApplyConfiguration {
	return &unstructuredApplyConfiguration{u}
}

type unstructuredApplyConfiguration struct{ *unstructured.Unstructured }

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (*unstructuredApplyConfiguration) IsApplyConfiguration() {}

// applyConfiguration is what generated configurations say about themselves.
type applyConfiguration interface {
	runtime.ApplyConfiguration
	GetName() *string
	GetNamespace() *string
	GetKind() *string
	GetAPIVersion() *string
}

// applied is what a client has to know of something that is to be applied.
type applied struct {
	gvk  schema.GroupVersionKind
	key  ObjectKey
	form form
}

func describeApplied(obj runtime.ApplyConfiguration) (applied, error) {
	if isNil(obj) {
		return applied{}, fmt.Errorf("what is to be applied is nil (%T)", obj)
	}
	switch config := obj.(type) {
	case *unstructuredApplyConfiguration:
		if config.Unstructured == nil {
			return applied{}, fmt.Errorf("what is to be applied is nil (%T)", config.Unstructured)
		}
		return applied{config.GroupVersionKind(), ObjectKeyFromObject(config), formUnstructured}, nil
	case applyConfiguration:
		version, err := schema.ParseGroupVersion(value(config.GetAPIVersion()))
		if err != nil {
			return applied{}, fmt.Errorf("apply a %T: %w", obj, err)
		}
		key := ObjectKey{Namespace: value(config.GetNamespace()), Name: value(config.GetName())}
		return applied{version.WithKind(value(config.GetKind())), key, formApplied}, nil
	default:
		return applied{}, fmt.Errorf("a %T cannot be applied: it has no methods that say its kind and name", obj)
	}
}

// value returns what a pointer points to, and the zero value for nil.
func value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
