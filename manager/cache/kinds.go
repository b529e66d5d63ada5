package cache

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// objectKind is what readers request: a kind, and whether its objects are typed, unstructured or
// metadata only.
type objectKind struct {
	schema.GroupVersionKind
	form informer.Form
}

var allForms = []informer.Form{informer.FormMetadata, informer.FormTyped, informer.FormUnstructured}

// String is for errors.
func (k objectKind) String() string {
	if k.form == informer.FormTyped {
		return k.GroupVersionKind.String()
	}
	return k.form.String() + " " + k.GroupVersionKind.String()
}

// kindOf returns the kind of an object, or of the objects in a list.
func (c *objectCache) kindOf(object runtime.Object) (objectKind, error) {
	gvk, err := apiutil.GVKForObject(object, c.options.Scheme)
	if err != nil {
		return objectKind{}, err // not wrapped: runtime.IsNotRegisteredError doesn't unwrap
	}
	// An unstructured object has a list's methods, too, and may be a PriceList.
	if _, isObject := object.(client.Object); !isObject {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	switch object.(type) {
	case runtime.Unstructured:
		return objectKind{gvk, informer.FormUnstructured}, nil
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return objectKind{gvk, informer.FormMetadata}, nil
	}
	return objectKind{gvk, informer.FormTyped}, nil
}

// exampleOf returns an empty object.
func (c *objectCache) exampleOf(kind objectKind) (client.Object, error) {
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
		return nil, fmt.Errorf("a %T isn't an object of a cluster: it has no metadata", made)
	}
	return object, nil
}

func typeMetaOf(gvk schema.GroupVersionKind) metav1.TypeMeta {
	version, kind := gvk.ToAPIVersionAndKind()
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// transformOf sets the kind of typed objects, which the informer's decoder clears like
// apimachinery's, and then calls the user's transform. So every read and every event shows the
// kind, and readers don't have to write it.
func transformOf(
	gvk schema.GroupVersionKind, transform informer.TransformFunc,
) informer.Transform[client.Object] {
	about := typeMetaOf(gvk)
	return func(object client.Object) (client.Object, error) {
		if typed, ok := object.GetObjectKind().(*metav1.TypeMeta); ok {
			*typed = about
		}
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
}

// isConverted reports whether readers get the metadata of whole objects.
func (g *gvkInformer) isConverted() bool {
	return g.form == informer.FormMetadata && g.namespaces[0].name.form != informer.FormMetadata
}

// shown returns an object of the store as readers see it. Maps and slices of the metadata are the
// whole object's, so the metadata is just as immutable.
func (g *gvkInformer) shown(object client.Object) client.Object {
	if !g.isConverted() {
		return object
	}
	partial := meta.AsPartialObjectMetadata(object)
	partial.TypeMeta = typeMetaOf(g.GroupVersionKind)
	return partial
}

// shownToHandler is shown for handlers and index functions, which have client-go's types.
func (g *gvkInformer) shownToHandler(object any) any {
	switch object := object.(type) {
	case informer.DeletedFinalStateUnknown:
		object.Obj = g.shownToHandler(object.Obj)
		return object
	case client.Object:
		return g.shown(object)
	}
	panic(fmt.Sprintf("cache: an informer called its handler with a %T, which is no object",
		object))
}

// metadataHandler is a handler of metadata on an informer of whole objects.
type metadataHandler struct {
	informer.ResourceEventHandler
	of *gvkInformer
}

func (h metadataHandler) OnAdd(object any, initial bool) {
	h.ResourceEventHandler.OnAdd(h.of.shownToHandler(object), initial)
}

func (h metadataHandler) OnUpdate(old, object any) {
	shown := h.of.shownToHandler(object)
	if old == object { // a resync, and the handler must be able to see that
		h.ResourceEventHandler.OnUpdate(shown, shown)
		return
	}
	h.ResourceEventHandler.OnUpdate(h.of.shownToHandler(old), shown)
}

func (h metadataHandler) OnDelete(object any) {
	h.ResourceEventHandler.OnDelete(h.of.shownToHandler(object))
}
