package cache

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
)

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
