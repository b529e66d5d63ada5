package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A client that takes a PriceList for a list of Prices asks for a kind that is not there.
func TestAKindMayBeCalledAListAndHaveItems(t *testing.T) {
	kind := widgetKind
	kind.Kind = "PriceList"
	prices := &unstructured.Unstructured{Object: map[string]any{"items": []any{map[string]any{"price": "1"}}}}
	prices.SetGroupVersionKind(kind)
	require.Equal(t, kind, itemKind(prices, kind))
	require.Equal(t, kind, itemKind(&pricesWithItems{}, kind))
	require.Equal(t, "Pod", itemKind(&corev1.PodList{}, corev1.SchemeGroupVersion.WithKind("PodList")).Kind)
	require.Equal(t, "Widget", itemKind(listOf(widgetKind), widgetKind.GroupVersion().WithKind("WidgetList")).Kind)
	require.Equal(t, "Widget", itemKind(metadataListOf(widgetKind), widgetKind.GroupVersion().WithKind("WidgetList")).Kind)
}

// pricesWithItems is an object of a Go type that looks like a list's.
type pricesWithItems struct {
	corev1.ConfigMap
	Items []corev1.ConfigMap
}
