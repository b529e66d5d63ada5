package fake_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/client/fake"
)

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

// Such a selector selects everything, and asks for no index.
func TestASelectorOfNoFieldsNeedsNoIndex(t *testing.T) {
	c := builder().WithObjects(podOn("a", "n1"), podOn("b", "n2")).Build()
	list := &corev1.PodList{}
	require.NoError(t, c.List(t.Context(), list, client.MatchingFieldsSelector{Selector: fields.Everything()}, client.MatchingLabels{"on": "n1"}))
	require.Equal(t, []string{"a"}, names(list))
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
