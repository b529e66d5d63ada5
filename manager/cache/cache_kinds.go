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
