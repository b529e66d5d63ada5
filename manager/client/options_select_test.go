package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func selectorOf(opts ...ListOption) string {
	return (&ListOptions{}).ApplyOptions(opts).LabelSelector.String()
}

func TestOptionsForLabelsAddUp(t *testing.T) {
	require.Equal(t, "a=b,c,d=e", selectorOf(MatchingLabels{"a": "b"}, HasLabels{"c"}, MatchingLabels{"d": "e"}))
	require.Equal(t, "a,b=c", selectorOf(HasLabels{"a"}, MatchingLabels{"b": "c"}))
}

func TestASelectorTakesThePlaceOfWhatWasSaidBefore(t *testing.T) {
	selector := MatchingLabelsSelector{labels.SelectorFromSet(labels.Set{"z": "z"})}
	require.Equal(t, "z=z", selectorOf(MatchingLabels{"a": "b"}, selector))
	require.Equal(t, "a=b,z=z", selectorOf(selector, MatchingLabels{"a": "b"}), "what comes after it is added")
	fields := (&ListOptions{}).ApplyOptions([]ListOption{MatchingFields{"a": "b"}, MatchingFields{"c": "d"}}).FieldSelector
	require.Equal(t, "c=d", fields.String())
}

func TestANamespaceAsASelector(t *testing.T) {
	require.Equal(t, "metadata.namespace=shop", InNamespace("shop").AsSelector().String())
}

// The text of a selector that matches nothing is empty, like that of one that matches everything.
// Sent to the server, it would list all objects, or delete them.
func TestASelectorThatMatchesNothingMatchesNothing(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.mustCreate(configMap("a"), widget("w"))
		for _, nothing := range []interface {
			ListOption
			DeleteAllOfOption
		}{MatchingLabelsSelector{}, MatchingFieldsSelector{}, HasLabels{"no label can have this name!"}} {
			require.True(w, (&ListOptions{}).ApplyOptions([]ListOption{nothing}).selectsNothing())
			for _, list := range []ObjectList{&corev1.ConfigMapList{}, listOf(widgetKind), metadataListOf(configMapKind)} {
				require.NoError(w, w.List(w.Context(), list))
				require.NotEmpty(w, list.GetResourceVersion())
				require.NoError(w, w.List(w.Context(), list, nothing))
				count := 0
				require.NoError(w, eachItem(list, func() { count++ }))
				require.Zero(w, count, "%T with %T", list, nothing)
				require.Empty(w, list.GetResourceVersion(), "the list is a new one")
			}
			require.NoError(w, w.DeleteAllOf(w.Context(), &corev1.ConfigMap{}, InNamespace("shop"), nothing))
			_, err := w.Watch(w.Context(), &corev1.ConfigMapList{}, nothing)
			require.Error(w, err, "nobody wants to wait for nothing")
		}
		require.NoError(w, w.Get(w.Context(), shopKey("a"), &corev1.ConfigMap{}), "nothing must have been deleted")
	})
}

func TestASelectorThatMatchesEverythingIsSentAsSuch(t *testing.T) {
	for _, everything := range []ListOption{MatchingLabels{}, MatchingFields{}, HasLabels{}, MatchingLabelsSelector{labels.Everything()}} {
		require.False(t, (&ListOptions{}).ApplyOptions([]ListOption{everything}).selectsNothing(), "%T", everything)
	}
	require.False(t, (&ListOptions{}).selectsNothing())
}
