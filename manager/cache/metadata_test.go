package cache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
)

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
	show := toMetadata{whole.TypeMeta}
	for _, object := range []client.Object{whole, free, wrapped{free}} {
		require.Equal(t, want, show.of(object), "%T", object)
		require.Equal(t, want, show.any(object), "%T", object)
		lost := informer.DeletedFinalStateUnknown{Key: "shop/a", Obj: object}
		require.Equal(t, informer.DeletedFinalStateUnknown{Key: "shop/a", Obj: want}, show.any(lost), "%T", object)
	}
	require.Same(t, want, show.of(want), "metadata is shown as it is")
	require.Panics(t, func() { show.any("no object") })
}

// Metadata that is not what it should be does not hide the object.
func TestMetadataThatCannotBeTakenOutIsReadFieldByField(t *testing.T) {
	free := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "namespace": "shop", "generation": "three"}}}
	require.Equal(t, metav1.ObjectMeta{Name: "a", Namespace: "shop"}, *objectMetaOf(free))
}

// To take the metadata of a hundred thousand objects must not copy it.
func TestTheMetadataOfATypedObjectIsThatInsideIt(t *testing.T) {
	whole := &corev1.ConfigMap{}
	require.Same(t, &whole.ObjectMeta, objectMetaOf(whole))
}

// Many handlers skip what has not changed, and look whether both objects are the same.
func TestAResyncOfMetadataShowsOneObjectTwice(t *testing.T) {
	var olds, objects []any
	h := metadataHandler{informer.ResourceEventHandlerFuncs{UpdateFunc: func(old, object any) { olds, objects = append(olds, old), append(objects, object) }}, toMetadata{}}
	first, second := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	h.OnUpdate(first, first)
	require.Len(t, olds, 1)
	require.Same(t, olds[0], objects[0])
	h.OnUpdate(first, second)
	require.Len(t, olds, 2)
	require.NotSame(t, olds[1], objects[1])
}
