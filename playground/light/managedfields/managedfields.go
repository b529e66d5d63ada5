// Package managedfields takes the place of apimachinery's, with structured-merge-diff, json-iterator and
// the protobuf of OpenAPI below it. In a page, nobody keeps track of who owns which field: objects have
// no managedFields, and server-side apply is refused. kubectl apply works without.
package managedfields

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

var errNone = errors.New("there is no server-side apply in a page")

// TypeConverter is the original's.
type TypeConverter interface {
	ObjectToTyped(runtime.Object, ...typed.ValidationOptions) (*typed.TypedValue, error)
	TypedToObject(*typed.TypedValue) (runtime.Object, error)
}

type deduced struct{}

func (deduced) ObjectToTyped(runtime.Object, ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return nil, errNone
}

func (deduced) TypedToObject(*typed.TypedValue) (runtime.Object, error) { return nil, errNone }

// NewDeducedTypeConverter returns a converter that refuses.
func NewDeducedTypeConverter() TypeConverter { return deduced{} }

// FieldManager tracks nothing.
type FieldManager struct{}

// UpdateNoErrors returns the object as it is to be.
func (*FieldManager) UpdateNoErrors(_, next runtime.Object, _ string) runtime.Object { return next }

// Apply refuses.
func (*FieldManager) Apply(_, _ runtime.Object, _ string, _ bool) (runtime.Object, error) {
	return nil, errNone
}

// NewDefaultFieldManager returns a manager that tracks nothing.
func NewDefaultFieldManager(
	TypeConverter, runtime.ObjectConvertor, runtime.ObjectDefaulter, runtime.ObjectCreater, schema.GroupVersionKind,
	schema.GroupVersion, string, map[fieldpath.APIVersion]fieldpath.Filter,
) (*FieldManager, error) {
	return &FieldManager{}, nil
}

// NewDefaultCRDFieldManager returns a manager that tracks nothing.
func NewDefaultCRDFieldManager(
	TypeConverter, runtime.ObjectConvertor, runtime.ObjectDefaulter, runtime.ObjectCreater, schema.GroupVersionKind,
	schema.GroupVersion, string, map[fieldpath.APIVersion]fieldpath.Filter,
) (*FieldManager, error) {
	return &FieldManager{}, nil
}

// ValidateManagedFields believes all.
func ValidateManagedFields([]metav1.ManagedFieldsEntry) error { return nil }

// ExtractInto refuses.
func ExtractInto(runtime.Object, typed.ParseableType, string, any, string) error { return errNone }

// ResourcePathMappings say where the number of replicas is.
type ResourcePathMappings map[string]fieldpath.Path

// ScaleHandler tracks nothing.
type ScaleHandler struct{}

// NewScaleHandler returns a handler that tracks nothing.
func NewScaleHandler([]metav1.ManagedFieldsEntry, schema.GroupVersion, ResourcePathMappings) *ScaleHandler {
	return &ScaleHandler{}
}

// ToSubresource returns no owners.
func (*ScaleHandler) ToSubresource() ([]metav1.ManagedFieldsEntry, error) { return nil, nil }

// ToParent returns no owners.
func (*ScaleHandler) ToParent([]metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	return nil, nil
}
