package client

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// readerFunc is a cache that only says what it was asked.
type readerFunc func(what string, obj runtime.Object) error

// Get implements Reader.
func (r readerFunc) Get(_ context.Context, key ObjectKey, obj Object, _ ...GetOption) error {
	return r("get "+key.String(), obj)
}

// List implements Reader.
func (r readerFunc) List(_ context.Context, list ObjectList, _ ...ListOption) error {
	return r("list", list)
}

func TestACacheAnswersReads(t *testing.T) {
	for _, c := range []struct {
		name    string
		options CacheOptions
		cached  []string // of typed, unstructured, metadata; Get and List of each
	}{
		{"typed objects and metadata", CacheOptions{}, []string{"get typed", "list typed", "get metadata", "list metadata"}},
		{"unstructured ones, too", CacheOptions{Unstructured: true},
			[]string{"get typed", "list typed", "get unstructured", "list unstructured", "get metadata", "list metadata"}},
		{"but not of certain kinds", CacheOptions{Unstructured: true, DisableFor: []Object{&corev1.ConfigMap{}}}, nil},
		{"kinds are named by unstructured objects, too", CacheOptions{DisableFor: []Object{newUnstructured(configMapKind)}}, nil},
		{"another kind", CacheOptions{DisableFor: []Object{&corev1.Secret{}}}, []string{"get typed", "list typed", "get metadata", "list metadata"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked bool
			c.options.Reader = readerFunc(func(string, runtime.Object) error { asked = true; return nil })
			inWorld(t, Options{Cache: &c.options}, func(w *world) {
				w.mustCreate(configMap("a"))
				var cached []string
				for _, form := range []struct {
					name string
					obj  Object
					list ObjectList
				}{
					{"typed", &corev1.ConfigMap{}, &corev1.ConfigMapList{}},
					{"unstructured", newUnstructured(configMapKind), listOf(configMapKind)},
					{"metadata", metadataOf(configMapKind, ""), metadataListOf(configMapKind.GroupVersion().WithKind("ConfigMapList"))},
				} {
					asked = false
					require.NoError(w, w.Get(w.Context(), shopKey("a"), form.obj))
					require.Equal(w, asked, len(w.wire.requests()) == 0, "either the cache or the server answers")
					if asked {
						cached = append(cached, "get "+form.name)
					}
					asked = false
					require.NoError(w, w.List(w.Context(), form.list))
					require.Equal(w, asked, len(w.wire.requests()) == 0)
					if asked {
						cached = append(cached, "list "+form.name)
					}
				}
				require.Equal(w, c.cached, cached)

				asked = false
				require.NoError(w, w.Update(w.Context(), configMap("a")))
				watching, err := w.Watch(w.Context(), &corev1.ConfigMapList{})
				require.NoError(w, err)
				watching.Stop()
				require.False(w, asked, "writes and watches go to the server")
			})
		})
	}
}

func TestAKindIsTurnedOffByAListAsWell(t *testing.T) {
	read, err := newReads(&CacheOptions{Reader: readerFunc(nil), DisableFor: []Object{metadataOf(configMapKind, "")}}, scheme.Scheme)
	require.NoError(t, err)
	cached, err := read.areCached(&corev1.ConfigMapList{}, scheme.Scheme)
	require.NoError(t, err)
	require.False(t, cached)
	_, err = read.areCached(&stranger{}, scheme.Scheme)
	require.True(t, runtime.IsNotRegisteredError(err), "a type that nobody knows")
	_, err = newReads(&CacheOptions{Reader: readerFunc(nil), DisableFor: []Object{&stranger{}}}, scheme.Scheme)
	require.ErrorContains(t, err, "CacheOptions.DisableFor")
}

func TestAClientThatCannotBeMadeSaysWhy(t *testing.T) {
	yes := true
	_, err := New(nil, Options{})
	require.ErrorContains(t, err, "needs a configuration")
	_, err = New(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: "/nowhere"}}, Options{})
	require.ErrorContains(t, err, "/nowhere")
	_, err = New(&rest.Config{}, Options{Cache: &CacheOptions{Reader: readerFunc(nil), DisableFor: []Object{&stranger{}}}})
	require.ErrorContains(t, err, "DisableFor")
	_, err = New(&rest.Config{}, Options{Cache: &CacheOptions{Reader: readerFunc(nil), EnableReadYourWritesConsistency: &yes}})
	require.ErrorContains(t, err, "is no client.WriteWaiter", "such a cache cannot say what it has seen")
	_, err = NewWithWatch(nil, Options{})
	require.Error(t, err)
	_, err = New(&rest.Config{}, Options{Cache: &CacheOptions{EnableReadYourWritesConsistency: &yes}})
	require.NoError(t, err, "without a cache, all reads see all writes")
}

func TestAClientUsesWhatItIsGiven(t *testing.T) {
	own, mapper := runtime.NewScheme(), meta.NewDefaultRESTMapper(nil)
	require.NoError(t, corev1.AddToScheme(own))
	mapper.Add(configMapKind, meta.RESTScopeNamespace)
	var asked string
	config := &rest.Config{Host: "http://server.example"}
	c, err := New(config, Options{Scheme: own, Mapper: mapper, HTTPClient: &http.Client{Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
		asked = request.URL.String()
		return nil, context.Canceled
	})}})
	require.NoError(t, err)
	require.Same(t, own, c.Scheme())
	require.Same(t, mapper, c.RESTMapper())
	require.ErrorIs(t, c.Get(t.Context(), shopKey("a"), &corev1.ConfigMap{}), context.Canceled)
	require.Equal(t, "http://server.example/api/v1/namespaces/shop/configmaps/a", asked)
	require.Empty(t, config.UserAgent, "the caller's configuration stays as it is")
	require.Nil(t, config.WarningHandlerWithContext)
}

func TestWarningsOfTheServerAreLogged(t *testing.T) {
	var own, called bytes.Buffer
	logger := func(to *bytes.Buffer) logr.Logger { return logr.FromSlogHandler(slog.NewTextHandler(to, nil)) }
	inWorld(t, Options{Log: logger(&own)}, func(w *world) {
		//lint:ignore SA1019 it is deprecated, and so the server warns
		restClients := &corev1.Endpoints{ObjectMeta: inShop("a")}
		require.NoError(w, w.Create(w.Context(), restClients))
		require.Contains(w, own.String(), "deprecated")
		own.Reset()
		require.NoError(w, w.Update(logr.NewContext(w.Context(), logger(&called)), restClients))
		require.Contains(w, called.String(), "deprecated", "the logger of the call has its reconcile ID")
		require.Empty(w, own.String())

		warnings{logger(&own)}.HandleWarningHeaderWithContext(w.Context(), 199, "", "of another kind")
		warnings{logger(&own)}.HandleWarningHeaderWithContext(w.Context(), 299, "", "")
		require.Empty(w, own.String())
	})
}

func TestAWarningHandlerOfTheUsersStays(t *testing.T) {
	var own bytes.Buffer
	config, _, err := withDefaults(&rest.Config{WarningHandler: rest.NoWarnings{}}, Options{Log: logr.FromSlogHandler(slog.NewTextHandler(&own, nil))})
	require.NoError(t, err)
	require.Nil(t, config.WarningHandlerWithContext)
	config, _, err = withDefaults(&rest.Config{WarningHandlerWithContext: rest.NoWarnings{}}, Options{})
	require.NoError(t, err)
	require.Equal(t, rest.NoWarnings{}, config.WarningHandlerWithContext)
}

// The audit log of a cluster is read by who has sent what.
func TestAClientSaysWhoItIs(t *testing.T) {
	config, _, err := withDefaults(&rest.Config{}, Options{})
	require.NoError(t, err)
	require.Equal(t, rest.DefaultKubernetesUserAgent(), config.UserAgent)
	config, _, err = withDefaults(&rest.Config{UserAgent: "shop/1.0"}, Options{})
	require.NoError(t, err)
	require.Equal(t, "shop/1.0", config.UserAgent)
}

// A warning that nobody sees is found out when the API is gone.
func TestWarningsAreLoggedEvenIfNoLoggerIsGiven(t *testing.T) {
	config, options, err := withDefaults(&rest.Config{}, Options{})
	require.NoError(t, err)
	require.False(t, options.Log.IsZero())
	require.Equal(t, warnings{options.Log}, config.WarningHandlerWithContext)
}

func TestAServerThatHasNoAddressIsAnError(t *testing.T) {
	_, err := New(&rest.Config{Host: "http://%zz"}, Options{HTTPClient: http.DefaultClient})
	require.ErrorContains(t, err, "%zz")
}

// The options are of different parts of the client, and all of them count.
func TestADryRunThatReadsItsOwnWritesIsADryRun(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		cache, yes := &lateCache{server: w.WithWatch}, true
		cache.see(w.Context())
		config := w.server.Config()
		config.Transport = w.wire
		c, err := New(config, Options{DryRun: &yes, FieldOwner: "me", Cache: &CacheOptions{Reader: cache, EnableReadYourWritesConsistency: &yes}})
		require.NoError(w, err)
		w.sends("POST /api/v1/namespaces/shop/configmaps?dryRun=All&fieldManager=me accept protobuf, */* send protobuf ...",
			func() error { return c.Create(w.Context(), configMap("a")) })
		require.Error(w, w.Get(w.Context(), shopKey("a"), &corev1.ConfigMap{}))
	})
}

// Without a cache, what it is not for does not matter.
func TestKindsAreLookedUpOnlyIfTheCacheNeedsThem(t *testing.T) {
	_, err := newReads(&CacheOptions{DisableFor: []Object{&stranger{}}}, scheme.Scheme)
	require.NoError(t, err)
	read, err := newReads(&CacheOptions{Reader: readerFunc(func(string, runtime.Object) error { return nil })}, runtime.NewScheme())
	require.NoError(t, err)
	cached, err := read.areCached(&corev1.ConfigMap{}, runtime.NewScheme())
	require.NoError(t, err, "the cache has a scheme of its own, which may know more types")
	require.True(t, cached)
}
