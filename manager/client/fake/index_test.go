package fake_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

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

func podMaps() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	return list
}

// Something else in the test may delete it, and a list is no error because of it.
func TestAnObjectThatGoesWhileItIsListedIsLeftOut(t *testing.T) {
	var c client.WithWatch
	c = builder().WithObjects(podOn("a", ""), podOn("b", "")).WithIndex(&corev1.Pod{}, "any", func(obj client.Object) []string {
		if obj.GetName() == "a" {
			require.NoError(t, c.Delete(t.Context(), pod("b"), client.GracePeriodSeconds(0)))
		}
		return []string{"yes"}
	}).Build()
	list := podMaps()
	require.NoError(t, c.List(t.Context(), list, client.MatchingFields{"any": "yes"}))
	require.Len(t, list.Items, 1)
	require.Equal(t, "a", list.Items[0].GetName())
}

// An index function that gets the item itself asks the server for nothing, and sees what the list has.
func TestAnIndexOfTheListsOwnTypeGetsItsItems(t *testing.T) {
	var c client.WithWatch
	c = builder().WithObjects(podOn("a", ""), podOn("b", "")).WithIndex(&corev1.Pod{}, "any", func(obj client.Object) []string {
		if obj.GetName() == "a" {
			require.NoError(t, c.Delete(t.Context(), pod("b"), client.GracePeriodSeconds(0)))
		}
		return []string{"yes"}
	}).Build()
	list := &corev1.PodList{}
	require.NoError(t, c.List(t.Context(), list, client.MatchingFields{"any": "yes"}))
	require.Equal(t, []string{"a", "b"}, names(list))
}

func TestAnIndexOfUnstructuredObjectsGetsThem(t *testing.T) {
	byName := func(obj client.Object) []string {
		return []string{obj.(*unstructured.Unstructured).GetKind() + " " + obj.GetName()}
	}
	c := builder().WithObjects(widget("a"), widget("b")).WithIndex(looseWidget("x"), "name", byName).Build()
	list := &WidgetList{}
	require.NoError(t, c.List(t.Context(), list, client.MatchingFields{"name": "Widget b"}))
	require.Len(t, list.Items, 1)
	require.Equal(t, "b", list.Items[0].Name)
}

// Half a list would be taken for the whole.
func TestAListThatCannotBeReadToTheEndIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := builder().WithObjects(podOn("a", ""), podOn("b", "")).WithIndex(&corev1.Pod{}, "any", func(client.Object) []string {
		cancel()
		return []string{"yes"}
	}).Build()
	require.ErrorIs(t, c.List(ctx, podMaps(), client.MatchingFields{"any": "yes"}), context.Canceled)
}

// Such a selector selects everything, and asks for no index.
func TestASelectorOfNoFieldsNeedsNoIndex(t *testing.T) {
	c := builder().WithObjects(podOn("a", "n1"), podOn("b", "n2")).Build()
	list := &corev1.PodList{}
	require.NoError(t, c.List(t.Context(), list, client.MatchingFieldsSelector{Selector: fields.Everything()}, client.MatchingLabels{"on": "n1"}))
	require.Equal(t, []string{"a"}, names(list))
	require.NoError(t, c.List(t.Context(), list, client.MatchingFieldsSelector{Selector: fields.Everything()}, client.Limit(1)))
	require.Len(t, list.Items, 1, "such a list is the server's, and so is its limit")
	require.NotEmpty(t, list.Continue)
}

func TestAnIndexCanBeAddedToAFakeClientOnly(t *testing.T) {
	for _, other := range []client.Client{nil, client.NewNamespacedClient(fake.NewFakeClient(), "shop")} {
		require.PanicsWithValue(t, fmt.Sprintf("fake: AddIndex: a %T is no fake client", other), func() {
			_ = fake.AddIndex(other, &corev1.Pod{}, "x", nodeOf)
		})
	}
}

func TestAListByFieldSaysWhatIsWrongWithIt(t *testing.T) {
	c := fake.NewClientBuilder().WithIndex(&corev1.Pod{}, "node", nodeOf).Build()
	err := c.List(t.Context(), &WidgetList{}, client.MatchingFields{"a": "b"})
	require.True(t, runtime.IsNotRegisteredError(err), "%v", err)
	err = fake.AddIndex(c, widget("a"), "a", nodeOf)
	require.True(t, runtime.IsNotRegisteredError(err), "%v", err)
	err = c.List(t.Context(), &corev1.PodList{}, client.MatchingFields{"node": "n1"}, client.InNamespace("no namespace can have this name!/"))
	require.Error(t, err)
}

// An index is of one kind: that of pods is none of config maps, and two of one kind are apart.
func TestAnIndexIsOfOneKindAndOneField(t *testing.T) {
	any1 := func(client.Object) []string { return []string{"1"} }
	c := builder().WithObjects(podOn("a", "n1"), configMap("m")).Build()
	require.NoError(t, fake.AddIndex(c, &corev1.Pod{}, "one", any1))
	require.NoError(t, fake.AddIndex(c, &corev1.Pod{}, "two", nodeOf))
	require.ErrorContains(t, c.List(t.Context(), &corev1.ConfigMapList{}, client.MatchingFields{"one": "1"}), "there is no index")
	require.NoError(t, fake.AddIndex(c, &corev1.ConfigMap{}, "one", any1))
	maps := &corev1.ConfigMapList{}
	require.NoError(t, c.List(t.Context(), maps, client.MatchingFields{"one": "1"}))
	require.Len(t, maps.Items, 1)
	pods := &corev1.PodList{}
	require.NoError(t, c.List(t.Context(), pods, client.MatchingFields{"one": "1", "two": "n1"}))
	require.Len(t, pods.Items, 1)
	require.NoError(t, c.List(t.Context(), pods, client.MatchingFields{"one": "1", "two": "n2"}))
	require.Empty(t, pods.Items)
}
