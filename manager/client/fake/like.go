package fake

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/apiutil"
)

// likeClient is the client that LikeControllerRuntime builds. It has no server, because
// controller-runtime's fake client keeps the Go objects that it gets, and its users' tests can
// tell: an empty map stays an empty map, and a failed write leaves traces in the caller's object.
//
// So it does the original's steps in the original's order, strange ones included. What looks like a
// mistake here is one there; benchmarks/manager runs the two side by side.
type likeClient struct {
	scheme   *runtime.Scheme
	mapper   meta.RESTMapper
	separate map[schema.GroupVersionKind]bool // from WithStatusSubresource
	indexes  *indexes
	// shown says that objects are returned with their managedFields.
	shown bool
	kinds *likeKinds

	mu    sync.Mutex // guards store, and what is in kinds
	store *likeStore
}

var _ client.WithWatch = &likeClient{}

// buildLike builds the client, and puts the builder's objects into it.
func (f *ClientBuilder) buildLike() (*likeClient, error) {
	c := &likeClient{
		scheme: f.scheme, mapper: f.mapper, separate: map[schema.GroupVersionKind]bool{},
		indexes: &f.indexes, shown: f.returnManagedFields,
		kinds: newLikeKinds(f.scheme, f.typeConverters), store: newLikeStore(),
	}
	c.store.oneCounter = f.oneCounter
	if c.mapper == nil {
		c.mapper = meta.NewDefaultRESTMapper(nil)
	}
	for _, obj := range f.withStatus {
		gvk, err := apiutil.GVKForObject(obj, f.scheme)
		if err != nil {
			return nil, fmt.Errorf("WithStatusSubresource: %w", err)
		}
		c.separate[gvk] = true
	}
	for _, obj := range f.all() {
		if err := c.load(obj); err != nil {
			return nil, fmt.Errorf("put a %T into the cluster: %w", obj, err)
		}
	}
	return c, nil
}

// gvrOf is a guess, as good as you can make it without asking a server.
func gvrOf(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	return gvr
}

// kindOf returns the kind of an object or a list.
func (c *likeClient) kindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	if err := c.meet(obj); err != nil {
		return schema.GroupVersionKind{}, err
	}
	return apiutil.GVKForObject(obj, c.scheme)
}

// meet begins a call: from then on the client knows the kind of an object that needs no Go type.
func (c *likeClient) meet(obj runtime.Object) error {
	isList := false
	switch obj.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
	case *unstructured.UnstructuredList, *metav1.PartialObjectMetadataList:
		isList = true
	default:
		return nil
	}
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		return err
	}
	if isList {
		gvk = listKind(gvk)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds.meet(gvk, obj)
	return nil
}

func listKind(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	return gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List") + "List")
}

// Get implements client.Reader.
func (c *likeClient) Get(
	_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption,
) error {
	gvk, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	stored, err := c.store.get(gvrOf(gvk), key)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.show(stored, gvk, obj)
}

// show writes a stored object into the caller's, by way of JSON.
func (c *likeClient) show(
	stored runtime.Object, gvk schema.GroupVersionKind, obj client.Object,
) error {
	setKind(stored, gvk) // a document about an unstructured object has to say its kind
	document, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	clearOut(obj)
	if err := json.Unmarshal(document, obj); err != nil {
		return err
	}
	c.leave(obj, gvk)
	return nil
}

// leave finishes the caller's object after a successful call.
func (c *likeClient) leave(obj client.Object, gvk schema.GroupVersionKind) {
	if !c.shown {
		obj.SetManagedFields(nil)
	}
	showKind(obj, gvk)
}

// showKind leaves the kind only in objects without a Go type that would show it.
func showKind(obj runtime.Object, gvk schema.GroupVersionKind) {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		setKind(obj, gvk)
	default:
		setKind(obj, schema.GroupVersionKind{})
	}
}

func setKind(obj runtime.Object, gvk schema.GroupVersionKind) {
	obj.GetObjectKind().SetGroupVersionKind(gvk)
}

// clearOut sets the value that a pointer points to to zero.
func clearOut(pointer any) { reflect.ValueOf(pointer).Elem().SetZero() }

// List implements client.Reader.
func (c *likeClient) List(
	_ context.Context, list client.ObjectList, opts ...client.ListOption,
) error {
	given, err := c.kindOf(list)
	if err != nil {
		return err
	}
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	items := listKind(given)
	gvk := items.GroupVersion().WithKind(strings.TrimSuffix(items.Kind, "List"))
	c.mu.Lock()
	all, err := c.listLocked(gvk, options.Namespace)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	document, err := json.Marshal(all)
	if err != nil {
		return err
	}
	clearOut(list)
	showKind(list, given)
	into := list.DeepCopyObject()
	if err := json.Unmarshal(document, into); err != nil {
		return err
	}
	found, err := meta.ExtractList(into)
	if err != nil {
		return err
	}
	for _, obj := range found {
		c.leave(obj.(client.Object), gvk)
	}
	if options.LabelSelector != nil {
		found = selected(found, options.LabelSelector)
	}
	if options.FieldSelector != nil {
		if found, err = c.selectedByField(found, gvk, options.FieldSelector); err != nil {
			return err
		}
	}
	return meta.SetList(list, found)
}

// listLocked returns a list of the Go type that the scheme has for it.
func (c *likeClient) listLocked(
	gvk schema.GroupVersionKind, namespace string,
) (runtime.Object, error) {
	list, err := c.kinds.New(listKind(gvk))
	if err != nil {
		return nil, err
	}
	if !meta.IsListType(list) {
		return nil, fmt.Errorf("%s is not a kind of lists", listKind(gvk))
	}
	found, met := c.store.list(gvrOf(gvk), namespace)
	if !met {
		return list, nil
	}
	return list, meta.SetList(list, found)
}

func selected(objects []runtime.Object, selector labels.Selector) []runtime.Object {
	return slices.DeleteFunc(objects, func(obj runtime.Object) bool {
		return !selector.Matches(labels.Set(obj.(metav1.Object).GetLabels()))
	})
}

func (c *likeClient) selectedByField(
	objects []runtime.Object, gvk schema.GroupVersionKind, selector fields.Selector,
) ([]runtime.Object, error) {
	conditions, err := c.indexes.conditions(gvk, selector)
	if err != nil {
		return nil, err
	}
	if len(conditions) == 0 {
		return nil, errors.New("list by field: the selector has no requirement")
	}
	return slices.DeleteFunc(objects, func(obj runtime.Object) bool {
		return slices.ContainsFunc(conditions, func(want condition) bool {
			return !slices.Contains(want.extract(obj.(client.Object)), want.value)
		})
	}), nil
}

// Watch implements client.WithWatch. It begins with the next change, and ignores selectors.
func (c *likeClient) Watch(
	_ context.Context, list client.ObjectList, opts ...client.ListOption,
) (watch.Interface, error) {
	given, err := c.kindOf(list)
	if err != nil {
		return nil, err
	}
	options := client.ListOptions{}
	options.ApplyOptions(opts)
	given.Kind = strings.TrimSuffix(given.Kind, "List")
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.watch(gvrOf(given), options.Namespace), nil
}

// Scheme implements client.Client.
func (c *likeClient) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper implements client.Client.
func (c *likeClient) RESTMapper() meta.RESTMapper { return c.mapper }

// GroupVersionKindFor implements client.Client.
func (c *likeClient) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.scheme)
}

// IsObjectNamespaced implements client.Client.
func (c *likeClient) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.scheme, c.mapper)
}

// Status implements client.StatusClient.
func (c *likeClient) Status() client.SubResourceWriter { return c.SubResource("status") }
