package informer

import (
	"errors"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
)

// Transform changes an object before anybody sees it, to make it smaller, and
// returns it or another one. It may change all of the object but the bytes of the
// field sets in managedFields, which objects with equal sets share. Name, namespace,
// UID and resourceVersion must stay.
//
// Errors: an object whose transform fails is stored as the transform left it, and
// InformerOptions.OnTransformError is called. An object that is too large does less
// harm than one that is missing: a controller takes a missing object for a deleted
// one, and makes it again. The price: it takes its full size, readers see fields
// that they expect to be gone, and it is half changed if the transform failed
// halfway. So check first and change afterwards. A transform that must not let
// something through, such as the data of Secrets, removes it and returns no error.
//
// client-go logs the error. A list fails as a whole and is repeated until the
// transform succeeds; a watch event is dropped and never comes again, so that the
// store keeps what was deleted and lacks what was added.
type Transform[T Object] func(T) (T, error)

// TransformError is what went wrong with one object.
type TransformError struct {
	Kind            string
	Key             Key
	ResourceVersion string
	Err             error
}

func (e *TransformError) Error() string {
	return fmt.Sprintf("transforming %s %s at resourceVersion %s: %v", e.Kind, e.Key, e.ResourceVersion, e.Err)
}

func (e *TransformError) Unwrap() error { return e.Err }

// DropManagedFields drops what only the API server and kubectl need, and what is a
// third of many objects: who owns which field, and the object as kubectl applied
// it last.
func DropManagedFields[T Object](object T) (T, error) {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
	return object, nil
}

// transformingSink is a sink that transforms what goes into the delta queue, on the
// reflector's goroutine. So no object waits in the queue at its full size.
type transformingSink[T Object] struct {
	*DeltaQueue[T]
	transform Transform[T]
	report    func(*TransformError)
}

var _ Sink[Object] = transformingSink[Object]{}

func newTransformingSink[T Object](queue *DeltaQueue[T], options InformerOptions[T]) transformingSink[T] {
	report := options.OnTransformError
	if report == nil {
		report = func(err *TransformError) { slog.Error("an object is stored as it came", "error", err) }
	}
	return transformingSink[T]{DeltaQueue: queue, transform: options.Transform, report: report}
}

func (t transformingSink[T]) Replace(items []T, resourceVersion string) {
	for i := range items {
		items[i] = t.transformed(items[i])
	}
	t.DeltaQueue.Replace(items, resourceVersion)
}

func (t transformingSink[T]) Apply(event Event[T]) {
	event.Object = t.transformed(event.Object)
	t.DeltaQueue.Apply(event)
}

var errTransformedToNothing = errors.New("it returned no object")

// transformed is the object after the transform, or as it was if that failed, which is reported.
func (t transformingSink[T]) transformed(object T) T {
	var nothing T
	result, err := t.transform(object)
	if err == nil && any(result) == any(nothing) {
		err = errTransformedToNothing
	}
	if err == nil {
		return result
	}
	t.report(&TransformError{
		Kind: t.options.Kind, Key: KeyOf(object), ResourceVersion: object.GetResourceVersion(), Err: err,
	})
	return object
}
