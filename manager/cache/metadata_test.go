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
