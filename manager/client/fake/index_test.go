package fake_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
	"github.com/loopwright/loopwright/manager/client/interceptor"
)

func nodeOf(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} }

func podOn(name, node string) *corev1.Pod {
	p := pod(name)
	p.Spec.NodeName = node
	p.Labels = map[string]string{"on": node}
	return p
}

func TestAListByFieldNeedsAnIndex(t *testing.T) {
	c := builder().WithObjects(podOn("a", "n1"), podOn("b", "n2")).Build()
	err := c.List(t.Context(), &corev1.PodList{}, client.MatchingFields{"spec.nodeName": "n1"})
	require.ErrorContains(t, err, `by the field "spec.nodeName": there is no index`, "in production the cache would refuse it")

	require.NoError(t, fake.AddIndex(interceptor.NewClient(c, interceptor.Funcs{}), &corev1.Pod{}, "spec.nodeName", nodeOf))
	require.Error(t, fake.AddIndex(c, &corev1.Pod{}, "spec.nodeName", nodeOf))
	list := &corev1.PodList{}
	require.NoError(t, c.List(t.Context(), list, client.MatchingFields{"spec.nodeName": "n1"}))
	require.Equal(t, []string{"a"}, names(list))
	err = c.List(t.Context(), list, &client.ListOptions{FieldSelector: fields.OneTermNotEqualSelector("spec.nodeName", "n1")})
	require.ErrorContains(t, err, "only what is equal")
	require.Panics(t, func() { _ = fake.AddIndex(client.NewNamespacedClient(c, "shop"), &corev1.Pod{}, "x", nodeOf) })
}

func TestAnIndexIsForAllFormsAndSelectors(t *testing.T) {
	c := builder().WithObjects(podOn("a", "n1"), podOn("b", "n2"), podOn("c", "n1")).
		WithIndex(&corev1.Pod{}, "node", nodeOf).
		WithIndex(&corev1.Pod{}, "name", func(obj client.Object) []string { return []string{"pod", obj.GetName()} }).Build()
	pods := &corev1.PodList{}
	require.NoError(t, c.List(t.Context(), pods, client.MatchingFields{"node": "n1", "name": "c"}, client.InNamespace("shop"), client.Limit(1)))
	require.Equal(t, []string{"c"}, names(pods), "both must be so, and a limit must not cut the list before")
	require.NoError(t, c.List(t.Context(), pods, client.MatchingFields{"name": "pod"}, client.MatchingLabels{"on": "n2"}))
	require.Equal(t, []string{"b"}, names(pods))

	maps := &unstructured.UnstructuredList{}
	maps.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	require.NoError(t, c.List(t.Context(), maps, client.MatchingFields{"node": "n1"}))
	require.Len(t, maps.Items, 2, "the index function gets the Go type that it was made for")
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	require.NoError(t, c.List(t.Context(), metadata, client.MatchingFields{"node": "n2"}))
	require.Len(t, metadata.Items, 1)
}

func TestInterceptorsStandInFront(t *testing.T) {
	c := builder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return context.DeadlineExceeded
		},
	}).Build()
	require.NoError(t, c.Create(t.Context(), configMap("a")))
	require.ErrorIs(t, c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "a"}, configMap("a")), context.DeadlineExceeded)
}
