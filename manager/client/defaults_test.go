package client

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

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
