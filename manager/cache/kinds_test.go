package cache

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

// An object that is missing in the cache is taken for one that was deleted, so a transform that goes wrong must leave one there.
func TestWhatATransformReturnsIsTakenOnlyIfItIsAnObjectOfTheSameType(t *testing.T) {
	before, after := &corev1.Secret{Type: "before"}, &corev1.Secret{Type: "after"}
	broken := errors.New("broken")
	for _, test := range []struct {
		what      string
		transform informer.TransformFunc
		want      *corev1.Secret
		err       string
	}{
		{"no transform", nil, before, ""},
		{"another object of the type", func(any) (any, error) { return after, nil }, after, ""},
		{"the object, changed", func(object any) (any, error) { return object, nil }, before, ""},
		{"an error", func(any) (any, error) { return after, broken }, before, "broken"},
		{"an error and nothing", func(any) (any, error) { return nil, broken }, before, "broken"},
		{"an object of another type", func(any) (any, error) { return &corev1.Pod{}, nil }, before, "the transform made a *v1.Pod of a *v1.Secret"},
		{"no object", func(any) (any, error) { return "x", nil }, before, "the transform made a string of a *v1.Secret"},
		{"nothing", func(any) (any, error) { return nil, nil }, before, "the transform made a <nil> of a *v1.Secret"},
	} {
		got, err := transformOf(secretKind, test.transform)(before)
		require.Same(t, test.want, got, test.what)
		if test.err == "" {
			require.NoError(t, err, test.what)
		} else {
			require.EqualError(t, err, test.err, test.what)
		}
	}
}

// A transform that reads the kind finds it, though the server leaves it out of lists.
func TestATransformSeesTheKindOfATypedObject(t *testing.T) {
	seen := metav1.TypeMeta{}
	transform := transformOf(secretKind, func(object any) (any, error) {
		seen = object.(*corev1.Secret).TypeMeta
		return object, nil
	})
	object := &corev1.Secret{}
	got, err := transform(object)
	require.NoError(t, err)
	require.Same(t, object, got)
	require.Equal(t, metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, seen)
}

var secretKind = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}

// metadataOfConfigMaps has an informer of whole objects.
var metadataOfConfigMaps = &gvkInformer{
	objectKind: objectKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"), informer.FormMetadata},
	namespaces: []*namespaceInformer{{}},
}

// wrapped is a Go type of somebody else, whose metadata can be had only by client.Object's methods.
type wrapped struct{ *unstructured.Unstructured }

// A field of the metadata that is left out is one that a controller takes for empty: it would adopt what has an owner.
func TestMetadataIsCompleteWhateverTheObjectIs(t *testing.T) {
	at := metav1.NewTime(time.Unix(1e9, 0))
	whole := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", GenerateName: "a-", Namespace: "shop", UID: "1", ResourceVersion: "2", Generation: 3,
			CreationTimestamp: at, DeletionTimestamp: &at, DeletionGracePeriodSeconds: new(int64(4)),
			Labels: map[string]string{"l": "5"}, Annotations: map[string]string{"a": "6"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "s", UID: "7"}},
			Finalizers:      []string{"example.com/f"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationApply}},
		},
		Data: map[string]string{"k": "v"},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(whole)
	require.NoError(t, err)
	free := &unstructured.Unstructured{Object: content}
	want := &metav1.PartialObjectMetadata{TypeMeta: whole.TypeMeta, ObjectMeta: whole.ObjectMeta}
	g := metadataOfConfigMaps
	for _, object := range []client.Object{whole, free, wrapped{free}} {
		require.Equal(t, want, g.shown(object), "%T", object)
		require.Equal(t, want, g.shownToHandler(object), "%T", object)
		lost := informer.DeletedFinalStateUnknown{Key: "shop/a", Obj: object}
		require.Equal(t, informer.DeletedFinalStateUnknown{Key: "shop/a", Obj: want}, g.shownToHandler(lost), "%T", object)
	}
	require.Panics(t, func() { g.shownToHandler("no object") })
}

// Many handlers skip what has not changed, and look whether both objects are the same.
func TestAResyncOfMetadataShowsOneObjectTwice(t *testing.T) {
	var olds, objects []any
	h := metadataHandler{informer.ResourceEventHandlerFuncs{UpdateFunc: func(old, object any) { olds, objects = append(olds, old), append(objects, object) }}, metadataOfConfigMaps}
	first, second := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	h.OnUpdate(first, first)
	require.Len(t, olds, 1)
	require.Same(t, olds[0], objects[0])
	h.OnUpdate(first, second)
	require.Len(t, olds, 2)
	require.NotSame(t, olds[1], objects[1])
}

type ownPod struct {
	corev1.Pod
	Extra string
}

// The author of a type without DeepCopy functions must read why nothing works.
func TestATypeThatCopiesOnlyWhatIsInsideItIsAnError(t *testing.T) {
	object := &ownPod{Extra: "extra"}
	require.ErrorContains(t, new(gvkInformer).writeTo(&ownPod{}, object, false), "as *v1.Pod and cannot write it to a *cache.ownPod")
	var same ownPod
	require.NoError(t, new(gvkInformer).writeTo(&same, object, true))
	require.Equal(t, "extra", same.Extra)
}

type ownCopiedPod struct{ ownPod }

func (o *ownCopiedPod) DeepCopyObject() runtime.Object {
	return &ownCopiedPod{ownPod{*o.DeepCopy(), o.Extra}}
}

// DeepCopyObject is all that a cluster's object must have.
func TestATypeWithoutDeepCopyIntoIsCopiedAllTheSame(t *testing.T) {
	object, read := &ownCopiedPod{ownPod{Extra: "extra"}}, &ownCopiedPod{}
	object.Labels = map[string]string{"a": "b"}
	require.NoError(t, new(gvkInformer).writeTo(read, object, false))
	require.Equal(t, object, read)
	read.Labels["a"] = "changed"
	require.Equal(t, "b", object.Labels["a"], "what the store has is not the reader's")
}

// A list has one Go type of items, and a reader's object another one than the store.
func TestAnObjectOfAnotherTypeIsNotWrittenToAReader(t *testing.T) {
	pods, secret := new(gvkInformer), &corev1.Secret{}
	for _, zeroCopy := range []bool{true, false} {
		require.ErrorContains(t, pods.writeTo(&corev1.Pod{}, secret, zeroCopy), "as *v1.Secret and cannot write it to a *v1.Pod")
		require.Error(t, pods.writeTo(&unstructured.Unstructured{}, secret, zeroCopy))
	}
}
