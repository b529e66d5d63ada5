package apiutil

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

func TestTheKindOfAnObject(t *testing.T) {
	pods := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	own := schema.GroupVersionKind{Group: "shop.example", Version: "v1", Kind: "Widget"}
	says := func(obj runtime.Object, kind schema.GroupVersionKind) runtime.Object {
		obj.GetObjectKind().SetGroupVersionKind(kind)
		return obj
	}
	for _, c := range []struct {
		obj  runtime.Object
		want schema.GroupVersionKind
	}{
		{&corev1.Pod{}, pods},
		{says(&corev1.Pod{}, own), pods}, // the Go type knows better
		{&corev1.PodList{}, pods.GroupVersion().WithKind("PodList")},
		{says(&unstructured.Unstructured{}, own), own},
		{says(&unstructured.UnstructuredList{}, own), own},
		{says(&metav1.PartialObjectMetadata{}, own), own},
		{says(&metav1.PartialObjectMetadataList{}, own), own},
	} {
		kind, err := GVKForObject(c.obj, clientgoscheme.Scheme)
		require.NoError(t, err)
		require.Equal(t, c.want, kind, "%T", c.obj)
	}
}

func TestAnObjectWhoseKindNobodyKnowsIsAnError(t *testing.T) {
	metadata := func(apiVersion, kind string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
	}
	for _, c := range []struct {
		obj runtime.Object
		is  func(error) bool
	}{
		{&unstructured.Unstructured{}, runtime.IsMissingKind},
		{&unstructured.Unstructured{Object: map[string]any{"kind": "Pod"}}, runtime.IsMissingVersion},
		{metadata("v1", ""), runtime.IsMissingKind},
		{metadata("", "Pod"), runtime.IsMissingVersion},
		{&metav1.PartialObjectMetadataList{}, runtime.IsMissingKind},
		{&stranger{}, runtime.IsNotRegisteredError},
		{&metav1.Status{}, func(err error) bool {
			return err.Error() == "a *v1.Status isn't in any version of an API, and isn't an object of a cluster"
		}},
	} {
		_, err := GVKForObject(c.obj, clientgoscheme.Scheme)
		require.Error(t, err)
		require.True(t, c.is(err), "%T: %v", c.obj, err)
	}
}

type stranger struct{ corev1.Pod }

func (s *stranger) DeepCopyObject() runtime.Object { return s }

// Guessing would mean writing an object into the wrong place.
func TestAGoTypeOfSeveralKindsHasToSayWhichItIs(t *testing.T) {
	first, second := schema.GroupVersionKind{Group: "a", Version: "v1", Kind: "Pod"}, schema.GroupVersionKind{Group: "b", Version: "v1", Kind: "Pod"}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(first, &corev1.Pod{})
	scheme.AddKnownTypeWithName(second, &corev1.Pod{})
	pod := &corev1.Pod{}
	_, err := GVKForObject(pod, scheme)
	require.ErrorContains(t, err, "the object has to say which")
	pod.SetGroupVersionKind(second)
	kind, err := GVKForObject(pod, scheme)
	require.NoError(t, err)
	require.Equal(t, second, kind)
	pod.SetGroupVersionKind(schema.GroupVersionKind{Group: "c", Version: "v1", Kind: "Pod"})
	_, err = GVKForObject(pod, scheme)
	require.ErrorContains(t, err, `says that it is c/v1, Kind=Pod`)
}

func TestWhetherAKindIsInNamespaces(t *testing.T) {
	mapper := newMapper(newDocuments(podKind, gvk("", "v1", "Node")))
	for _, c := range []struct {
		obj  runtime.Object
		want bool
	}{{&corev1.Pod{}, true}, {&corev1.Node{}, false}, {&corev1.PodList{}, true}} {
		namespaced, err := IsObjectNamespaced(c.obj, clientgoscheme.Scheme, mapper)
		require.NoError(t, err)
		require.Equal(t, c.want, namespaced, "%T", c.obj)
	}
	namespaced, err := IsObjectNamespaced(&stranger{}, clientgoscheme.Scheme, mapper)
	require.True(t, runtime.IsNotRegisteredError(err))
	require.False(t, namespaced)
	namespaced, err = IsGVKNamespaced(unknownKind, mapper)
	require.False(t, namespaced)
	require.True(t, meta.IsNoMatchError(err))
	require.ErrorContains(t, err, "nobody.example/v1, Kind=Nothing")
	without := meta.NewDefaultRESTMapper(nil)
	without.Add(podKind, noScope{})
	namespaced, err = IsGVKNamespaced(podKind, without)
	require.False(t, namespaced)
	require.ErrorContains(t, err, "does not say whether")
}

type noScope struct{}

func (noScope) Name() meta.RESTScopeName { return "" }

// A type without a kind of its own is one that the scheme knows, or does not: to ask it must not end the process.
type withoutKind struct{ corev1.Pod }

func (*withoutKind) GetObjectKind() schema.ObjectKind { return nil }
func (o *withoutKind) DeepCopyObject() runtime.Object { return o }

func TestAnObjectThatIsNilOrDoesNotKnowItsKindEndsNobody(t *testing.T) {
	for _, obj := range []runtime.Object{nil, (*corev1.Pod)(nil), (*unstructured.Unstructured)(nil), (*metav1.PartialObjectMetadata)(nil)} {
		_, err := GVKForObject(obj, clientgoscheme.Scheme)
		require.ErrorContains(t, err, "nil", "%T", obj)
	}
	scheme, kind := runtime.NewScheme(), schema.GroupVersionKind{Group: "a", Version: "v1", Kind: "Thing"}
	_, err := GVKForObject(&withoutKind{}, scheme)
	require.True(t, runtime.IsNotRegisteredError(err), err)
	scheme.AddKnownTypeWithName(kind, &withoutKind{})
	found, err := GVKForObject(&withoutKind{}, scheme)
	require.NoError(t, err)
	require.Equal(t, kind, found)
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind("Other"), &withoutKind{})
	_, err = GVKForObject(&withoutKind{}, scheme)
	require.ErrorContains(t, err, "the object has to say which")
}
