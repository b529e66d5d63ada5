package informer

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
)

// running runs a factory until the test ends it.
func running(t *testing.T, factory *Factory) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = factory.Run(ctx) })
	require.NoError(t, factory.WaitForSync(ctx))
	return func() { cancel(); running.Wait() }
}

// A typed object has lost the fields that its Go type does not have. Written back
// by a reader who took it for the whole object, they are gone in the cluster, too.
func TestOneCollectionInThreeFormsIsThreeInformers(t *testing.T) {
	onServerWithWidgets(t, func(t *testing.T, server *fakeapi.Server) {
		newWorld(t, server.Config(), "default").create(t, "apple", nil)
		factory := NewFactory(server.Config(), FactoryOptions{})
		of := Collection{Resource: configMapResource, Namespace: "default"}
		typed, err := InformerFor[*corev1.ConfigMap](factory, of)
		require.NoError(t, err)
		free, err := InformerFor[*unstructured.Unstructured](factory, of)
		require.NoError(t, err)
		metadata, err := InformerFor[*metav1.PartialObjectMetadata](factory, of)
		require.NoError(t, err)
		again, err := InformerFor[*unstructured.Unstructured](factory, of)
		require.NoError(t, err)
		require.Same(t, free, again)
		any := of
		any.Form = FormUnstructured
		_, err = InformerFor[Object](factory, any)
		require.ErrorContains(t, err, "unstructured configmaps in namespace default: there is one of "+
			"another Go type")
		widgets, err := InformerFor[Object](factory, Collection{Resource: widgetResource,
			Form: FormMetadata, Kind: widgetKind})
		require.NoError(t, err)

		stop := running(t, factory)
		defer stop()
		key := keyIn("default", "apple")
		_, ok := typed.Store().Get(key)
		require.True(t, ok)
		whole, ok := free.Store().Get(key)
		require.True(t, ok)
		require.Equal(t, configMapKind, whole.GroupVersionKind())
		_, ok = metadata.Store().Get(key)
		require.True(t, ok)
		widget, ok := widgets.Store().Get(keyIn("default", "first"))
		require.True(t, ok)
		require.Equal(t, widgetKind, widget.GetObjectKind().GroupVersionKind())

		require.NoError(t, factory.Stop(t.Context(), any))
		require.ErrorIs(t, free.WaitFor(t.Context(), key, "1000"), errInformerStopped)
		newWorld(t, server.Config(), "default").create(t, "late", nil)
		synctest.Wait()
		require.Equal(t, 2, typed.Store().Len(), "the other forms go on")
		require.Equal(t, 2, metadata.Store().Len())
		require.NoError(t, factory.Stop(t.Context(), of))
		newWorld(t, server.Config(), "default").create(t, "last", nil)
		synctest.Wait()
		require.Equal(t, 2, typed.Store().Len(), "all forms were stopped")
		require.Equal(t, 2, metadata.Store().Len())
	})
}

// A hundred kinds must not be a hundred connections, handshakes and certificates.
// client-go shares transports among clients of equal configurations; a function in
// a configuration, such as a dialer, equals nothing.
func TestAllInformersOfAFactoryShareOneConnection(t *testing.T) {
	api := fakeapi.New(fakeapi.Options{})
	defer api.Close()
	server := httptest.NewUnstartedServer(api)
	server.EnableHTTP2 = true
	var connections atomic.Int32
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		Dial: (&net.Dialer{}).DialContext}
	factory := NewFactory(config, FactoryOptions{})
	ask := func(resource string) {
		_, err := InformerFor[*unstructured.Unstructured](factory,
			Collection{Resource: corev1.SchemeGroupVersion.WithResource(resource)})
		require.NoError(t, err)
	}
	// alone, because net/http may dial more than once before it knows that the server speaks HTTP/2
	ask("pods")
	stop := running(t, factory)
	defer stop()
	for _, resource := range []string{"services", "endpoints", "secrets"} {
		ask(resource)
	}
	require.NoError(t, factory.WaitForSync(t.Context()))
	require.EqualValues(t, 1, connections.Load())
}

// countedTransport counts what goes through a client.
type countedTransport struct {
	http.RoundTripper
	requests atomic.Int32
}

func (c *countedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(request)
}

func TestAFactoryUsesTheClientThatItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		counted := &countedTransport{RoundTripper: server.Config().Transport}
		factory := NewFactory(&rest.Config{Host: server.Config().Host},
			FactoryOptions{HTTPClient: &http.Client{Transport: counted}})
		_, err := InformerFor[*corev1.Pod](factory, Collection{Resource: podResource})
		require.NoError(t, err)
		running(t, factory)()
		require.Positive(t, counted.requests.Load())
	})
}

// What an informer can do, one of a factory must be able to do.
func TestAFactoryHandsItsOptionsToItsInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fakeapi.New(fakeapi.Options{})
		defer server.Close()
		w := newWorld(t, server.Config(), "default")
		w.create(t, "apple", nil)
		w.create(t, "rotten", nil)
		var failed []*TransformError
		var changed []string
		metrics := &gauges{read: map[string]func() float64{}}
		factory := NewFactory(server.Config(), FactoryOptions{
			DropManagedFields: true,
			Transform: func(object Object) (Object, error) {
				if object.GetName() == "rotten" {
					return &corev1.Pod{}, nil
				}
				object.(*corev1.ConfigMap).Data = map[string]string{"by": "transform"}
				return object, nil
			},
			OnTransformError: func(err *TransformError) { failed = append(failed, err) },
			DetectMutations:  func(_, is Object) { changed = append(changed, is.GetName()) },
			Metrics:          metrics,
		})
		informer, err := InformerFor[*corev1.ConfigMap](factory, Collection{Resource: configMapResource,
			Namespace: "default", LabelSelector: "test"})
		require.NoError(t, err)
		add(t, informer, HandlerFuncs[*corev1.ConfigMap]{}, HandlerOptions{Name: "mine"})
		stop := running(t, factory)
		synctest.Wait()
		apple, ok := informer.Store().Get(keyIn("default", "apple"))
		require.True(t, ok)
		require.Equal(t, "transform", apple.Data["by"])
		require.Empty(t, apple.ManagedFields)
		require.Zero(t, metrics.value(t, "informer_handler_backlog ConfigMap mine"))
		apple.Data["by"] = "mistake"
		stop()
		require.Equal(t, []string{"apple"}, changed)
		require.Len(t, failed, 1)
		require.ErrorContains(t, failed[0], "it returned a *v1.Pod for a *v1.ConfigMap")
	})
}

func TestAFactoryPassesTheErrorOfATransformOn(t *testing.T) {
	failing := FactoryOptions{Transform: func(Object) (Object, error) { return nil, errTooOdd }}
	_, err := informerOptions[*corev1.Pod](failing).Transform(&corev1.Pod{})
	require.ErrorIs(t, err, errTooOdd)
	require.False(t, errors.Is(err, errTransformedToNothing))
}

// What nobody asked a factory for must not happen to the objects of forty kinds.
func TestAFactoryDoesNothingToObjectsUnasked(t *testing.T) {
	options := informerOptions[*corev1.Pod](FactoryOptions{})
	require.Nil(t, options.Transform, "objects lose fields")
	require.Nil(t, options.DetectMutations, "each object is copied and kept")
}

func TestATransformOfAFactorySeesManagedFieldsUnlessTheyAreDropped(t *testing.T) {
	for _, drop := range []bool{false, true} {
		saw := -1
		options := informerOptions[*corev1.Pod](FactoryOptions{DropManagedFields: drop,
			Transform: func(object Object) (Object, error) {
				saw = len(object.GetManagedFields())
				return object, nil
			}})
		_, err := options.Transform(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}})
		require.NoError(t, err)
		require.Equal(t, map[bool]int{false: 1, true: 0}[drop], saw, "DropManagedFields: %v", drop)
	}
}

// A program that chose to survive its handlers must not crash because a factory
// made the informer.
func TestAFactoryPassesOnWhatHappensAtAPanic(t *testing.T) {
	var reported []HandlerPanic
	options := informerOptions[*corev1.Pod](FactoryOptions{RecoverPanics: true,
		OnPanic: func(p HandlerPanic) { reported = append(reported, p) }})
	require.True(t, options.RecoverPanics)
	options.OnPanic(HandlerPanic{Handler: "mine"})
	require.Equal(t, "mine", reported[0].Handler)
	require.False(t, informerOptions[*corev1.Pod](FactoryOptions{}).RecoverPanics,
		"a crash is the default")
}

func TestAFactoryLooksKindsUpInItsScheme(t *testing.T) {
	of := Collection{Resource: podResource}
	_, err := InformerFor[*corev1.Pod](NewFactory(&rest.Config{Host: "http://nobody"},
		FactoryOptions{Scheme: runtime.NewScheme()}), of)
	require.ErrorContains(t, err, "AddToScheme")
	_, err = InformerFor[*corev1.Pod](NewFactory(&rest.Config{Host: "http://nobody"},
		FactoryOptions{Scheme: scheme.Scheme}), of)
	require.NoError(t, err)
}
