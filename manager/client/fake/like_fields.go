package fake

import (
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// likeKinds are the kinds of a scheme, and those without a Go type that a likeClient has met.
//
// The original adds the latter to the scheme, where other clients meet them, too.
type likeKinds struct {
	*runtime.Scheme
	// met has the type of the first object of each kind: unstructured, or metadata alone.
	met        map[schema.GroupVersionKind]reflect.Type
	converters managedfields.TypeConverter
	managers   map[schema.GroupVersionKind]*managedfields.FieldManager
}

func newLikeKinds(s *runtime.Scheme, given []managedfields.TypeConverter) *likeKinds {
	if len(given) == 0 {
		given = []managedfields.TypeConverter{
			kubernetesFields(), managedfields.NewDeducedTypeConverter()}
	}
	return &likeKinds{
		Scheme: s, met: map[schema.GroupVersionKind]reflect.Type{},
		converters: fakeapi.FirstOf(given),
		managers:   map[schema.GroupVersionKind]*managedfields.FieldManager{},
	}
}

// kubernetesFields has the schemas of Kubernetes' own kinds. Parsing them takes a while, so all
// clients share them.
var kubernetesFields = sync.OnceValue(func() managedfields.TypeConverter {
	s := runtime.NewScheme() // to client-go's, users add kinds of their own
	_ = scheme.AddToScheme(s)
	return applyconfigurations.NewTypeConverter(s)
})

func (k *likeKinds) meet(gvk schema.GroupVersionKind, obj runtime.Object) {
	if k.met[gvk] == nil && !k.Recognizes(gvk) {
		k.met[gvk] = reflect.TypeOf(obj).Elem()
	}
}

// New implements runtime.ObjectCreater.
func (k *likeKinds) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if t := k.met[gvk]; t != nil {
		return reflect.New(t).Interface().(runtime.Object), nil
	}
	return k.Scheme.New(gvk)
}

// inGoType returns the object in the Go type of its kind, if it has one. All objects of a kind are
// stored in the same type, because they have to fit into one list.
func (k *likeKinds) inGoType(obj runtime.Object) (runtime.Object, error) {
	switch obj.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
	default:
		return obj, nil
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if !k.Recognizes(gvk) {
		return obj, nil
	}
	out, err := k.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	switch out.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return obj, nil // somebody has registered the kind like that
	}
	document, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", obj, err)
	}
	if err := json.Unmarshal(document, out); err != nil {
		return nil, fmt.Errorf("read a %T into a %T: %w", obj, out, err)
	}
	return out, nil
}

// fieldsOf returns the manager that tracks who owns which fields of a kind.
func (k *likeKinds) fieldsOf(gvk schema.GroupVersionKind) (*managedfields.FieldManager, error) {
	if made := k.managers[gvk]; made != nil {
		return made, nil
	}
	one := likeKind{k, gvk}
	made, err := managedfields.NewDefaultFieldManager(
		k.converters, one, one, one, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	k.managers[gvk] = made
	return made, nil
}

// likeKind is one of the kinds, in the form that the library needs.
type likeKind struct {
	*likeKinds
	gvk schema.GroupVersionKind
}

// Default implements runtime.Defaulter. There are none.
func (likeKind) Default(runtime.Object) {}

// ConvertToVersion implements runtime.ObjectConvertor. A kind without a Go type has one version.
func (k likeKind) ConvertToVersion(
	in runtime.Object, target runtime.GroupVersioner,
) (out runtime.Object, err error) {
	t := k.met[k.gvk]
	u, isMap := in.(runtime.Unstructured)
	if isMap {
		t = k.met[in.GetObjectKind().GroupVersionKind()]
	}
	switch {
	case t != nil && isMap:
		out = reflect.New(t).Interface().(runtime.Object)
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.UnstructuredContent(), out)
	case t == reflect.TypeOf(in).Elem():
		out = in.DeepCopyObject()
	default:
		return k.Scheme.ConvertToVersion(in, target)
	}
	gvk, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{k.gvk})
	if !ok {
		return nil, runtime.NewNotRegisteredErrForTarget(k.Name(), t, target)
	}
	setKind(out, gvk)
	return out, err
}
