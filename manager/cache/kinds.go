package cache

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// kindOf is the kind and form of an object, or of the objects in a list.
func (c *objectCache) kindOf(object runtime.Object) (kindForm, error) {
	gvk, err := apiutil.GVKForObject(object, c.options.Scheme)
	if err != nil {
		return kindForm{}, err // as it is, as runtime.IsNotRegisteredError and IsMissingKind look at nothing inside it
	}
	// An unstructured object has a list's methods, too, and may be a PriceList.
	if _, isObject := object.(client.Object); !isObject {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	switch object.(type) {
	case runtime.Unstructured:
		return kindForm{gvk, informer.FormUnstructured}, nil
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return kindForm{gvk, informer.FormMetadata}, nil
	}
	return kindForm{gvk, informer.FormTyped}, nil
}

// kindNamed is what GetInformerForKind means: typed objects if the scheme knows a type.
//
// controller-runtime's fails if it does not.
func (c *objectCache) kindNamed(gvk schema.GroupVersionKind) kindForm {
	if c.options.Scheme.Recognizes(gvk) {
		return kindForm{gvk, informer.FormTyped}
	}
	return kindForm{gvk, informer.FormUnstructured}
}

// exampleOf is an empty object.
func (c *objectCache) exampleOf(kind kindForm) (client.Object, error) {
	switch kind.form {
	case informer.FormUnstructured:
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind.GroupVersionKind)
		return object, nil
	case informer.FormMetadata:
		return &metav1.PartialObjectMetadata{TypeMeta: typeMetaOf(kind.GroupVersionKind)}, nil
	}
	made, err := c.options.Scheme.New(kind.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	object, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("a %T is no object of a cluster: it has no metadata", made)
	}
	return object, nil
}

// hasOneKind reports whether the Go type says the kind, so that a view can be found by the type.
func (c *objectCache) hasOneKind(object runtime.Object) bool {
	switch object.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return false
	}
	kinds, _, err := c.options.Scheme.ObjectKinds(object)
	return err == nil && len(kinds) == 1
}

func typeMetaOf(gvk schema.GroupVersionKind) metav1.TypeMeta {
	version, kind := gvk.ToAPIVersionAndKind()
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// transformOf makes typed objects carry their kind, which the server leaves out of lists, and then
// calls the user's transform. So every read, every event and every iteration shows the kind, and none
// has to write it.
func transformOf(gvk schema.GroupVersionKind, transform informer.TransformFunc) informer.Transform[client.Object] {
	about := typeMetaOf(gvk)
	return func(object client.Object) (client.Object, error) {
		if typed, ok := object.GetObjectKind().(*metav1.TypeMeta); ok {
			*typed = about
		}
		return transformed(object, transform)
	}
}

// transformed is what the user's transform returns, or the object if that is of no use.
func transformed(object client.Object, transform informer.TransformFunc) (client.Object, error) {
	if transform == nil {
		return object, nil
	}
	result, err := transform(object)
	if err != nil {
		return object, err
	}
	changed, ok := result.(client.Object)
	if !ok || reflect.TypeOf(changed) != reflect.TypeOf(object) {
		return object, fmt.Errorf("the transform made a %T of a %T", result, object)
	}
	return changed, nil
}

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
