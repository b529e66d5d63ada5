package cache

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// toMetadata shows whole objects to readers of metadata. Maps and slices are those of the object that is
// shown, so what it returns is as immutable as that.
type toMetadata struct {
	about metav1.TypeMeta
}

// isConverted reports whether the view shows metadata, and its informers have whole objects.
func (v *view) isConverted() bool {
	return v.form == informer.FormMetadata && v.parts[0].name.form != informer.FormMetadata
}

// metadata shows the view's objects as metadata, whatever they are.
func (v *view) metadata() toMetadata { return toMetadata{typeMetaOf(v.GroupVersionKind)} }

func (m toMetadata) of(object client.Object) *metav1.PartialObjectMetadata {
	if partial, ok := object.(*metav1.PartialObjectMetadata); ok {
		return partial
	}
	return &metav1.PartialObjectMetadata{TypeMeta: m.about, ObjectMeta: *objectMetaOf(object)}
}

// objectMetaOf is the metadata inside a typed object, or that of an unstructured one, taken out.
func objectMetaOf(object client.Object) *metav1.ObjectMeta {
	if has, ok := object.(metav1.ObjectMetaAccessor); ok {
		if inside, ok := has.GetObjectMeta().(*metav1.ObjectMeta); ok {
			return inside
		}
	}
	taken := &metav1.PartialObjectMetadata{}
	if free, ok := object.(*unstructured.Unstructured); ok {
		only := map[string]any{"metadata": free.Object["metadata"]}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(only, taken) == nil {
			return &taken.ObjectMeta
		}
	}
	return &metav1.ObjectMeta{
		Name: object.GetName(), GenerateName: object.GetGenerateName(), Namespace: object.GetNamespace(), UID: object.GetUID(),
		ResourceVersion: object.GetResourceVersion(), Generation: object.GetGeneration(), CreationTimestamp: object.GetCreationTimestamp(),
		DeletionTimestamp: object.GetDeletionTimestamp(), DeletionGracePeriodSeconds: object.GetDeletionGracePeriodSeconds(),
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(), OwnerReferences: object.GetOwnerReferences(),
		Finalizers: object.GetFinalizers(), ManagedFields: object.GetManagedFields(),
	}
}

// any is for handlers and index functions with client-go's types.
func (m toMetadata) any(object any) any {
	switch object := object.(type) {
	case informer.DeletedFinalStateUnknown:
		object.Obj = m.any(object.Obj)
		return object
	case client.Object:
		return m.of(object)
	}
	panic(fmt.Sprintf("cache: an informer told its handler of a %T, which is no object", object))
}

// metadataHandler is a handler of metadata that hears of whole objects.
type metadataHandler struct {
	handler informer.ResourceEventHandler
	show    toMetadata
}

func (h metadataHandler) OnAdd(object any, initial bool) {
	h.handler.OnAdd(h.show.any(object), initial)
}

func (h metadataHandler) OnUpdate(old, object any) {
	shown := h.show.any(object)
	if old == object { // a resync, and the handler must be able to see that
		h.handler.OnUpdate(shown, shown)
		return
	}
	h.handler.OnUpdate(h.show.any(old), shown)
}

func (h metadataHandler) OnDelete(object any) { h.handler.OnDelete(h.show.any(object)) }
