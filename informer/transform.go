package informer

import corev1 "k8s.io/api/core/v1"

// Transform changes an object before anybody sees it, to make it smaller, and
// returns it or another one. It owns the object, except for the bytes of the field
// sets in managedFields, which equal ones share. Name, namespace, UID and
// resourceVersion must stay.
type Transform[T Object] func(T) T

// DropManagedFields drops what only the API server and kubectl need, and what is a
// third of many objects: who owns which field, and the object as kubectl applied
// it last.
func DropManagedFields[T Object](object T) T {
	object.SetManagedFields(nil)
	if annotations := object.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
	return object
}

// transformed is a sink that transforms what goes into the delta queue, on the
// reflector's goroutine. So no object waits in the queue at its full size.
type transformed[T Object] struct {
	*DeltaQueue[T]
	transform Transform[T]
}

var _ Sink[Object] = transformed[Object]{}

func (t transformed[T]) Replace(items []T, resourceVersion string) {
	for i := range items {
		items[i] = t.transform(items[i])
	}
	t.DeltaQueue.Replace(items, resourceVersion)
}

func (t transformed[T]) Apply(event Event[T]) {
	event.Object = t.transform(event.Object)
	t.DeltaQueue.Apply(event)
}
