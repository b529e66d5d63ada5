package client

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// slowMapper takes a second for an answer, and counts the questions.
type slowMapper struct {
	meta.RESTMapper
	mu    sync.Mutex // guards asked
	asked int
}

// RESTMapping implements meta.RESTMapper.
func (m *slowMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	m.mu.Lock()
	m.asked++
	m.mu.Unlock()
	time.Sleep(time.Second)
	return m.RESTMapper.RESTMapping(gk, versions...)
}

func newEndpoints(httpClient *http.Client) (*restClients, *slowMapper) {
	known := meta.NewDefaultRESTMapper(nil)
	known.Add(configMapKind, meta.RESTScopeNamespace)
	mapper := &slowMapper{RESTMapper: known}
	return &restClients{
		config: &rest.Config{Host: "http://server.example"}, httpClient: httpClient, scheme: scheme.Scheme,
		mapper: mapper, codecs: serializer.NewCodecFactory(scheme.Scheme), known: map[resourceKey]*resourceMeta{},
	}, mapper
}

// Each has a connection with a rate limiter of its own: two of them may send twice as much.
func TestAKindHasOneConnectionEvenIfTwoCallersFindItAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, mapper := newEndpoints(http.DefaultClient)
		found := make(chan *resourceMeta, 2)
		for range 2 {
			go func() {
				one, err := e.find(configMapKind, typedObject)
				require.NoError(t, err)
				found <- one
			}()
		}
		first := <-found
		require.Same(t, first, <-found)
		began := time.Now()
		again, err := e.find(configMapKind, typedObject)
		require.NoError(t, err)
		require.Same(t, first, again)
		require.Zero(t, time.Since(began), "what is known is not asked for")
		require.Equal(t, 2, mapper.asked)
		other, err := e.find(configMapKind, unstructuredObject)
		require.NoError(t, err)
		require.NotSame(t, first, other)
	})
}

func TestAConnectionThatCannotBeMadeIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := newEndpoints(nil)
		_, err := e.find(configMapKind, typedObject)
		require.ErrorContains(t, err, "connect to the resources of v1: ")
		require.Empty(t, e.known)
	})
}

// The server knows timeoutSeconds, for all forms; timeout is what client-go's metadata client adds.
func TestAWatchSaysHowLongItIsToLast(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		seconds := int64(5)
		for _, c := range []struct {
			list ObjectList
			want string
		}{
			{&corev1.ConfigMapList{}, "GET /api/v1/configmaps?timeoutSeconds=5&watch=true accept protobuf, */*"},
			{metadataListOf(configMapKind), "GET /api/v1/configmaps?timeout=5s&timeoutSeconds=5&watch=true accept protobuf;as=PartialObjectMetadata,json;as=PartialObjectMetadata,json"},
		} {
			w.sends(c.want, func() error {
				watching, err := w.Watch(w.Context(), c.list, &ListOptions{Raw: &metav1.ListOptions{TimeoutSeconds: &seconds}})
				if err == nil {
					watching.Stop()
				}
				return err
			})
		}
	})
}

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
