package client

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// Patch is a change of an object.
type Patch interface {
	// Type says how the server reads the data.
	Type() types.PatchType
	// Data is the body of the request. obj is the object that was passed to Client.Patch.
	Data(obj Object) ([]byte, error)
}

var (
	// Apply sends the whole object for a server-side apply. Client.Apply is better: an object has
	// zero values that nobody intended, and an apply configuration doesn't.
	Apply Patch = wholeObject(types.ApplyPatchType)
	// Merge sends the whole object as a merge patch. MergeFrom sends only the differences.
	Merge Patch = wholeObject(types.MergePatchType)
)

type wholeObject types.PatchType

// Type implements Patch.
func (w wholeObject) Type() types.PatchType { return types.PatchType(w) }

// Data implements Patch.
func (w wholeObject) Data(obj Object) ([]byte, error) { return json.Marshal(obj) }

// RawPatch is a patch that you have already written.
func RawPatch(patchType types.PatchType, data []byte) Patch { return rawPatch{patchType, data} }

type rawPatch struct {
	patchType types.PatchType
	data      []byte
}

// Type implements Patch.
func (p rawPatch) Type() types.PatchType { return p.patchType }

// Data implements Patch.
func (p rawPatch) Data(Object) ([]byte, error) { return p.data, nil }

// MergeFrom is a merge patch with the differences between obj and the object that you pass to
// Client.Patch:
//
//	before := pod.DeepCopy()
//	pod.Labels["seen"] = "true"
//	err := c.Patch(ctx, pod, client.MergeFrom(before))
//
// A list that differs is replaced as a whole. If other clients have added to it in the meantime,
// that is lost, unless MergeFromWithOptimisticLock makes it a conflict. Numbers stay as they're
// spelled, to the last digit.
func MergeFrom(obj Object) Patch { return MergeFromWithOptions(obj) }

// MergeFromWithOptions is MergeFrom with options.
func MergeFromWithOptions(obj Object, opts ...MergeFromOption) Patch {
	return newDifference(types.MergePatchType, obj, opts)
}

// StrategicMergeFrom is like MergeFrom, but merges lists as their Go type says: containers by their
// name, for instance. It doesn't work with custom resources.
func StrategicMergeFrom(obj Object, opts ...MergeFromOption) Patch {
	return newDifference(types.StrategicMergePatchType, obj, opts)
}

// MergeFromOptions are the options of MergeFromWithOptions and StrategicMergeFrom.
type MergeFromOptions struct {
	// OptimisticLock makes the patch a conflict if the object has changed since you read it: the
	// patch includes its resourceVersion.
	OptimisticLock bool
}

// MergeFromOption sets one of MergeFromOptions.
type MergeFromOption interface{ ApplyToMergeFrom(*MergeFromOptions) }

// MergeFromWithOptimisticLock makes the patch a conflict if the object has changed. Unlike an
// update, it still leaves fields alone that the caller's Go type doesn't have.
type MergeFromWithOptimisticLock struct{}

// ApplyToMergeFrom implements MergeFromOption.
func (MergeFromWithOptimisticLock) ApplyToMergeFrom(opts *MergeFromOptions) {
	opts.OptimisticLock = true
}

// difference is a patch with the changes since from was copied.
type difference struct {
	patchType types.PatchType
	from      Object
	options   MergeFromOptions
}

func newDifference(patchType types.PatchType, from Object, opts []MergeFromOption) Patch {
	d := difference{patchType: patchType, from: from}
	for _, opt := range opts {
		opt.ApplyToMergeFrom(&d.options)
	}
	return d
}

// Type implements Patch.
func (d difference) Type() types.PatchType { return d.patchType }

// Data implements Patch.
func (d difference) Data(obj Object) ([]byte, error) {
	before, after := d.from, obj
	if d.options.OptimisticLock {
		version := before.GetResourceVersion()
		if version == "" {
			return nil, fmt.Errorf("patch %s with an optimistic lock: the object that the patch "+
				"starts from has no resourceVersion", ObjectKeyFromObject(before))
		}
		// A version that only one of them has is a difference, and so it's in the patch.
		before = before.DeepCopyObject().(Object)
		before.SetResourceVersion("")
		after = after.DeepCopyObject().(Object)
		after.SetResourceVersion(version)
	}
	old, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	current, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	if d.patchType == types.StrategicMergePatchType {
		return strategicpatch.CreateTwoWayMergePatch(old, current, obj)
	}
	return jsonpatch.CreateMergePatch(old, current)
}

// ApplyConfigurationFromUnstructured makes an apply configuration from an unstructured object,
// which gets the server's answer.
//
// Write the object by hand, or take the answer to an earlier Apply. An object that was made from a
// Go type has zero values that nobody intended, and they would be applied.
func ApplyConfigurationFromUnstructured(u *unstructured.Unstructured) runtime.ApplyConfiguration {
	return &unstructuredApplyConfiguration{u}
}

type unstructuredApplyConfiguration struct{ *unstructured.Unstructured }

// IsApplyConfiguration implements runtime.ApplyConfiguration.
func (*unstructuredApplyConfiguration) IsApplyConfiguration() {}

// applyConfiguration has the methods of generated configurations.
type applyConfiguration interface {
	runtime.ApplyConfiguration
	GetName() *string
	GetNamespace() *string
	GetKind() *string
	GetAPIVersion() *string
}

// applied is what a client needs to know of an apply configuration.
type applied struct {
	gvk      schema.GroupVersionKind
	key      ObjectKey
	encoding encoding
}

func describeApplied(obj runtime.ApplyConfiguration) (applied, error) {
	if anyvalue.IsNil(obj) {
		return applied{}, fmt.Errorf("what is to be applied is nil (%T)", obj)
	}
	switch config := obj.(type) {
	case *unstructuredApplyConfiguration:
		if config.Unstructured == nil {
			return applied{}, fmt.Errorf("what is to be applied is nil (%T)", config.Unstructured)
		}
		return applied{config.GroupVersionKind(), ObjectKeyFromObject(config),
			unstructuredObject}, nil
	case applyConfiguration:
		version, err := schema.ParseGroupVersion(value(config.GetAPIVersion()))
		if err != nil {
			return applied{}, fmt.Errorf("apply a %T: %w", obj, err)
		}
		key := ObjectKey{Namespace: value(config.GetNamespace()), Name: value(config.GetName())}
		return applied{version.WithKind(value(config.GetKind())), key, applyConfig}, nil
	default:
		return applied{}, fmt.Errorf("a %T cannot be applied: it has no methods that say its "+
			"kind and name", obj)
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
