package cache

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
)

// Get implements client.Reader. out is left as it was if there is an error.
func (c *objectCache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	v, err := c.viewForRead(ctx, out, key.Namespace)
	if err != nil {
		return err
	}
	if !v.namespaced {
		key.Namespace = ""
	}
	part, err := v.partOf(key.Namespace)
	if err != nil {
		return fmt.Errorf("getting %s: %w", key, err)
	}
	if err := part.readable(ctx); err != nil {
		return err
	}
	object, ok := part.store.Get(key)
	if !ok {
		return apierrors.NewNotFound(v.resource, key.Name)
	}
	zeroCopy := part.scope.zeroCopy
	if len(opts) > 0 {
		zeroCopy = wantsZeroCopy(opts, zeroCopy)
	}
	return v.writeTo(out, object, zeroCopy)
}

// wantsZeroCopy is apart from Get because its options are allocated.
func wantsZeroCopy(opts []client.GetOption, otherwise bool) bool {
	if set := new(client.GetOptions).ApplyOptions(opts).UnsafeDisableDeepCopy; set != nil {
		return *set
	}
	return otherwise
}

// writeTo writes an object of the store to a reader's.
func (v *view) writeTo(out, object client.Object, zeroCopy bool) error {
	switch to := out.(type) {
	case *metav1.PartialObjectMetadata:
		to.TypeMeta = v.metadata().about
		if inside := objectMetaOf(object); zeroCopy {
			to.ObjectMeta = *inside
		} else {
			inside.DeepCopyInto(&to.ObjectMeta)
		}
		return nil
	case *unstructured.Unstructured:
		from, ok := object.(*unstructured.Unstructured)
		if !ok {
			break
		}
		if to.Object = from.Object; !zeroCopy {
			to.Object = runtime.DeepCopyJSON(from.Object)
		}
		return nil
	}
	if reflect.TypeOf(out) != reflect.TypeOf(object) {
		return fmt.Errorf("the cache has %s as %T and cannot write it to a %T", v.kindForm, object, out)
	}
	if zeroCopy {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(object).Elem())
		return nil
	}
	return copyTo(reflect.ValueOf(out), reflect.ValueOf(object))
}

// List implements client.Reader. out is left as it was if there is an error.
//
// A list that Limit has cut off has a Continue that the cache refuses, so that nobody takes the list for
// the whole. controller-runtime sets it in every list.
func (c *objectCache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	options := new(client.ListOptions).ApplyOptions(opts)
	v, err := c.viewForRead(ctx, out, options.Namespace)
	if err != nil {
		return err
	}
	q, err := v.newQuery(options)
	if err != nil {
		return fmt.Errorf("listing %s: %w", v.resource, err)
	}
	objects, cutOff, err := q.collect(ctx)
	if err != nil {
		return fmt.Errorf("listing %s: %w", v.resource, err)
	}
	if err := v.fill(out, objects, v.listsZeroCopy(options)); err != nil {
		return fmt.Errorf("listing %s: %w", v.resource, err)
	}
	out.SetContinue("")
	if cutOff {
		out.SetContinue("the-cache-cannot-continue")
	}
	return nil
}

// collect takes the objects out of the store. cutOff says that there are more than the limit.
func (q *query) collect(ctx context.Context) (objects []client.Object, cutOff bool, err error) {
	if q.labels == nil && len(q.fields) == 0 && len(q.names) == 0 && q.limit <= 0 {
		objects = make([]client.Object, 0, q.view.size(q.namespace))
	}
	err = q.run(ctx, func(object client.Object) bool {
		if cutOff = q.limit > 0 && int64(len(objects)) == q.limit; !cutOff {
			objects = append(objects, object)
		}
		return !cutOff
	})
	return objects, cutOff, err
}

// size is about how many objects a namespace has, if that is known without counting.
func (v *view) size(namespace string) int {
	parts, _ := v.partsOf(namespace)
	if namespace != "" && len(parts) == 1 && parts[0].scope.namespace == AllNamespaces && v.namespaced {
		return 0
	}
	all := 0
	for _, part := range parts {
		all += part.store.Len()
	}
	return all
}

// listsZeroCopy is decided for the whole list: the caller cannot tell its items apart. If namespaces
// have different settings, it is a copy.
func (v *view) listsZeroCopy(options *client.ListOptions) bool {
	if options.UnsafeDisableDeepCopy != nil {
		return *options.UnsafeDisableDeepCopy
	}
	parts, err := v.partsOf(options.Namespace)
	if err != nil {
		return false
	}
	for _, part := range parts {
		if !part.scope.zeroCopy {
			return false
		}
	}
	return true
}

// fill writes objects of the store to the items of a list.
func (v *view) fill(out client.ObjectList, objects []client.Object, zeroCopy bool) error {
	switch list := out.(type) {
	case *metav1.PartialObjectMetadataList:
		v.fillMetadata(list, objects, zeroCopy)
		return nil
	case *unstructured.UnstructuredList:
		fillUnstructured(list, objects, zeroCopy)
		return nil
	}
	if shape := shapeOf(out); shape.holds(objects) {
		return shape.fill(out, objects, zeroCopy)
	}
	return fillAny(out, objects, zeroCopy)
}

func (v *view) fillMetadata(list *metav1.PartialObjectMetadataList, objects []client.Object, zeroCopy bool) {
	about := typeMetaOf(v.GroupVersionKind)
	list.Items = make([]metav1.PartialObjectMetadata, len(objects))
	for i, object := range objects {
		list.Items[i].TypeMeta = about
		if inside := objectMetaOf(object); zeroCopy {
			list.Items[i].ObjectMeta = *inside
		} else {
			inside.DeepCopyInto(&list.Items[i].ObjectMeta)
		}
	}
}

func fillUnstructured(list *unstructured.UnstructuredList, objects []client.Object, zeroCopy bool) {
	list.Items = make([]unstructured.Unstructured, len(objects))
	for i, object := range objects {
		if list.Items[i].Object = object.(*unstructured.Unstructured).Object; !zeroCopy {
			list.Items[i].Object = runtime.DeepCopyJSON(list.Items[i].Object)
		}
	}
}

// fillAny is for lists of pointers or interfaces.
func fillAny(out client.ObjectList, objects []client.Object, zeroCopy bool) error {
	items := make([]runtime.Object, len(objects))
	for i, object := range objects {
		if items[i] = object; !zeroCopy {
			items[i] = object.DeepCopyObject()
		}
	}
	return meta.SetList(out, items)
}

// listShape is how a Go type of lists keeps its items: []corev1.Pod and the like.
type listShape struct {
	items  []int        // the field
	object reflect.Type // a pointer to an item; nil if the items are something else
}

var listShapes sync.Map // from reflect.Type to *listShape

func shapeOf(list client.ObjectList) *listShape {
	goType := reflect.TypeOf(list)
	if known, ok := listShapes.Load(goType); ok {
		return known.(*listShape)
	}
	shape := &listShape{}
	if list := goType.Elem(); list.Kind() == reflect.Struct {
		if items, ok := list.FieldByName("Items"); ok && items.Type.Kind() == reflect.Slice && items.Type.Elem().Kind() == reflect.Struct {
			shape.items, shape.object = items.Index, reflect.PointerTo(items.Type.Elem())
		}
	}
	known, _ := listShapes.LoadOrStore(goType, shape)
	return known.(*listShape)
}

// holds reports whether the objects can be items.
func (s *listShape) holds(objects []client.Object) bool {
	if s.object == nil {
		return false
	}
	for _, object := range objects {
		if reflect.TypeOf(object) != s.object {
			return false
		}
	}
	return true
}

// fill sets the items. A copy is made at its place in the list.
func (s *listShape) fill(out client.ObjectList, objects []client.Object, zeroCopy bool) error {
	to := reflect.ValueOf(out).Elem().FieldByIndex(s.items)
	items := reflect.MakeSlice(to.Type(), len(objects), len(objects))
	for i, object := range objects {
		if zeroCopy {
			items.Index(i).Set(reflect.ValueOf(object).Elem())
		} else if err := copyTo(items.Index(i).Addr(), reflect.ValueOf(object)); err != nil {
			return err
		}
	}
	to.Set(items)
	return nil
}

// copyTo makes a deep copy of an object of the store, at the place that a reader has for it. Both are
// pointers to one Go type.
//
// Generated types have a DeepCopyInto, which does that, but in no interface, because its parameter is of the type itself.
// DeepCopyObject makes a new object, which is then copied to its place and thrown away. So the method is looked up
// by its name, once for each type. A call through reflection costs less than what it saves.
//
// A type that has both methods from a type inside it cannot be copied.
func copyTo(to, from reflect.Value) error {
	copier := copierOf(from.Type())
	if !copier.IsValid() {
		copied := reflect.ValueOf(from.Interface().(runtime.Object).DeepCopyObject())
		if copied.Type() != to.Type() {
			return fmt.Errorf("the method DeepCopyObject of a %s makes a %s", from.Type(), copied.Type())
		}
		to.Elem().Set(copied.Elem())
		return nil
	}
	arguments := [...]reflect.Value{from, to}
	copier.Call(arguments[:])
	return nil
}

var copiers sync.Map // from reflect.Type to reflect.Value

// copierOf is the DeepCopyInto of a pointer type, or nothing if it has none for its own type: one that it has from
// an embedded type would leave out the rest.
func copierOf(t reflect.Type) reflect.Value {
	if known, ok := copiers.Load(t); ok {
		return known.(reflect.Value)
	}
	var copier reflect.Value
	if method, ok := t.MethodByName("DeepCopyInto"); ok {
		if f := method.Type; f.NumIn() == 2 && f.In(1) == t && f.NumOut() == 0 {
			copier = method.Func
		}
	}
	copiers.Store(t, copier)
	return copier
}
