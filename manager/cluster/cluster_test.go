package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/cache/informertest"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/cluster"
)

// inCluster runs a test in a bubble with a cluster in memory. The cluster was made and not started.
func inCluster(t *testing.T, test func(t *testing.T, api *fakeapi.Server, c cluster.Cluster), opts ...cluster.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(fakeapi.Options{})
		defer api.Close()
		c, err := cluster.New(api.Config(), append(opts, func(o *cluster.Options) { o.Logger = logr.Discard() })...)
		require.NoError(t, err)
		test(t, api, c)
	})
}

// begin starts a cluster. The function that it returns stops it, and returns Start's error.
func begin(c cluster.Cluster) func() error {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	synctest.Wait()
	return func() error { stop(); return <-ended }
}

func one() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
}

func TestTheClientWritesToTheServerAndReadsFromTheCache(t *testing.T) {
	inCluster(t, func(t *testing.T, api *fakeapi.Server, c cluster.Cluster) {
		key := client.ObjectKeyFromObject(one())
		require.NoError(t, c.GetClient().Create(t.Context(), one()), "a write needs no Start")
		require.Error(t, c.GetClient().Get(t.Context(), key, &corev1.ConfigMap{}), "the cache does not run yet")
		require.NoError(t, c.GetAPIReader().Get(t.Context(), key, &corev1.ConfigMap{}), "that is what the API reader is for")
		end := begin(c)
		require.NoError(t, c.GetClient().Get(t.Context(), key, &corev1.ConfigMap{}))
		synctest.Wait()
		api.ForgetRequests()
		require.NoError(t, c.GetClient().Get(t.Context(), key, &corev1.ConfigMap{}))
		require.Empty(t, api.Requests(fakeapi.Match{}), "the cache has answered")
		require.NoError(t, c.GetAPIReader().Get(t.Context(), key, &corev1.ConfigMap{}))
		require.Len(t, api.Requests(fakeapi.Match{Verb: "get", UserAgent: rest.DefaultKubernetesUserAgent()}), 1, "an administrator sees who asks")
		require.NoError(t, end())
	})
}

func TestAnIndexOfTheFieldIndexerAnswersReadsOfTheClient(t *testing.T) {
	inCluster(t, func(t *testing.T, api *fakeapi.Server, c cluster.Cluster) {
		require.NoError(t, c.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, "first", func(o client.Object) []string { return []string{o.GetName()[:1]} }))
		require.NoError(t, c.GetClient().Create(t.Context(), one()))
		end := begin(c)
		var found corev1.ConfigMapList
		require.NoError(t, c.GetClient().List(t.Context(), &found, client.MatchingFields{"first": "o"}))
		require.Len(t, found.Items, 1)
		require.NoError(t, c.GetClient().List(t.Context(), &found, client.MatchingFields{"first": "x"}))
		require.Empty(t, found.Items)
		require.NoError(t, end())
	})
}

func TestEventsAreWrittenWhileTheClusterRunsAndAtItsEnd(t *testing.T) {
	inCluster(t, func(t *testing.T, api *fakeapi.Server, c cluster.Cluster) {
		object := one()
		require.NoError(t, c.GetClient().Create(t.Context(), object))
		end := begin(c)
		written := func() int { return len(api.Requests(fakeapi.Match{Verb: "create", Resource: "events"})) }
		c.GetEventRecorder("shop").Eventf(object, nil, corev1.EventTypeNormal, "Opened", "Open", "it is %s", "open")
		synctest.Wait()
		require.Equal(t, 1, written())
		c.GetEventRecorderFor("shop").Event(object, corev1.EventTypeNormal, "Closed", "it is closed")
		api.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "events"}, Delay: time.Second})
		require.NoError(t, end())
		var events eventsv1.EventList
		require.NoError(t, c.GetAPIReader().List(t.Context(), &events))
		require.Len(t, events.Items, 1)
		var older corev1.EventList
		require.NoError(t, c.GetAPIReader().List(t.Context(), &older))
		require.Len(t, older.Items, 1, "the last words are what people want to read")
	})
}

func TestAClusterHasWhatItWasGiven(t *testing.T) {
	var (
		config = &rest.Config{Host: "https://example.invalid"}
		types  = runtime.NewScheme()
		sender = &http.Client{}
		mapper = meta.NewDefaultRESTMapper(nil)
		reader = &informertest.FakeInformers{}
		writer client.Client
		got    cache.Options
		reads  client.Options
	)
	shared := &client.CacheOptions{Unstructured: true}
	c, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme, o.HTTPClient, o.Client.Cache = types, sender, shared
		o.MapperProvider = func(c *rest.Config, by *http.Client) (meta.RESTMapper, error) {
			require.Same(t, sender, by)
			require.NotEmpty(t, c.UserAgent)
			return mapper, nil
		}
		o.NewCache = func(_ *rest.Config, opts cache.Options) (cache.Cache, error) { got = opts; return reader, nil }
		o.NewClient = func(c *rest.Config, opts client.Options) (client.Client, error) {
			reads = opts
			var err error
			writer, err = client.New(c, opts)
			return writer, err
		}
	})
	require.NoError(t, err)
	require.Same(t, config, c.GetConfig())
	require.Empty(t, config.UserAgent, "the caller's configuration is the caller's")
	require.Same(t, types, c.GetScheme())
	require.Same(t, sender, c.GetHTTPClient())
	require.Equal(t, mapper, c.GetRESTMapper())
	require.Same(t, reader, c.GetCache())
	require.Same(t, reader, c.GetFieldIndexer())
	require.Same(t, writer, c.GetClient())
	require.Same(t, types, got.Scheme)
	require.Same(t, sender, got.HTTPClient)
	require.Equal(t, mapper, got.Mapper)
	require.Same(t, types, reads.Scheme)
	require.Equal(t, mapper, reads.Mapper)
	require.Same(t, sender, reads.HTTPClient)
	require.Same(t, reader, reads.Cache.Reader)
	require.True(t, reads.Cache.Unstructured)
	require.Nil(t, shared.Reader, "a second cluster with the same options must not read from this one's cache")
}

func TestTheSchemeIsThatOfKubernetesByDefault(t *testing.T) {
	c, err := cluster.New(&rest.Config{})
	require.NoError(t, err)
	require.Same(t, scheme.Scheme, c.GetScheme())
	require.NotNil(t, c.(interface{ GetLogger() logr.Logger }).GetLogger().GetSink(), "what cannot be returned is logged")
}

func TestNewSaysWhichPartCannotBeMade(t *testing.T) {
	broken := errors.New("broken")
	for want, opt := range map[string]cluster.Option{
		"RESTMapper": func(o *cluster.Options) {
			o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return nil, broken }
		},
		"cache": func(o *cluster.Options) {
			o.NewCache = func(*rest.Config, cache.Options) (cache.Cache, error) { return nil, broken }
		},
		"client": func(o *cluster.Options) {
			o.NewClient = func(*rest.Config, client.Options) (client.Client, error) { return nil, broken }
		},
	} {
		_, err := cluster.New(&rest.Config{}, opt)
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "making the "+want+" of a cluster")
	}
	_, err := cluster.New(nil)
	require.ErrorContains(t, err, "needs a configuration")
	nowhere := &rest.Config{Host: "no address!"}
	_, err = cluster.New(nowhere)
	require.ErrorContains(t, err, "making the RESTMapper of a cluster")
	_, err = cluster.New(nowhere, func(o *cluster.Options) {
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return meta.NewDefaultRESTMapper(nil), nil }
		o.NewCache = func(*rest.Config, cache.Options) (cache.Cache, error) { return &informertest.FakeInformers{}, nil }
		o.NewClient = func(*rest.Config, client.Options) (client.Client, error) { return nil, nil }
	})
	require.ErrorContains(t, err, "making the event writer of a cluster")
	_, err = cluster.New(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(t.TempDir(), "none")}})
	require.ErrorContains(t, err, "making the HTTP client of a cluster")
}

// A program may give its cache a scheme with fewer types, or its client another reader.
func TestWhatTheOptionsOfAPartSayIsNotReplaced(t *testing.T) {
	var (
		config   = &rest.Config{Host: "https://example.invalid", UserAgent: "mine"}
		ofCache  = cache.Options{Scheme: runtime.NewScheme(), Mapper: meta.NewDefaultRESTMapper(nil), HTTPClient: &http.Client{}, Logger: new(logr.New(sink{name: "of the cache"}))}
		reader   = &informertest.FakeInformers{}
		ofClient = client.Options{
			Scheme: runtime.NewScheme(), Mapper: meta.NewDefaultRESTMapper(nil), HTTPClient: &http.Client{}, Log: logr.New(sink{name: "of the client"}),
			Cache: &client.CacheOptions{Reader: reader},
		}
		cacheGot  cache.Options
		clientGot client.Options
	)
	c, err := cluster.New(config, func(o *cluster.Options) {
		o.Cache, o.Client, o.Logger = ofCache, ofClient, logr.New(sink{name: "of the cluster"})
		o.NewCache = func(c *rest.Config, opts cache.Options) (cache.Cache, error) {
			require.Equal(t, "mine", c.UserAgent)
			cacheGot = opts
			return &informertest.FakeInformers{}, nil
		}
		o.NewClient = func(_ *rest.Config, opts client.Options) (client.Client, error) { clientGot = opts; return nil, nil }
	})
	require.NoError(t, err)
	require.Same(t, ofCache.Scheme, cacheGot.Scheme)
	require.Same(t, ofCache.Mapper, cacheGot.Mapper)
	require.Same(t, ofCache.HTTPClient, cacheGot.HTTPClient)
	require.Equal(t, sink{name: "of the cache"}, cacheGot.Logger.GetSink())
	require.Same(t, ofClient.Scheme, clientGot.Scheme)
	require.Same(t, ofClient.Mapper, clientGot.Mapper)
	require.Same(t, ofClient.HTTPClient, clientGot.HTTPClient)
	require.Equal(t, sink{name: "of the client"}, clientGot.Log.GetSink())
	require.Same(t, reader, clientGot.Cache.Reader)
	require.Equal(t, sink{name: "of the cluster"}, c.(interface{ GetLogger() logr.Logger }).GetLogger().GetSink())
	require.Equal(t, "the cache of https://example.invalid", fmt.Sprint(c))
}

// sink is a logger's that can be recognised.
type sink struct {
	logr.LogSink
	name string
}

func (s sink) Init(logr.RuntimeInfo)               {}
func (s sink) WithName(string) logr.LogSink        { return s }
func (s sink) WithValues(...any) logr.LogSink      { return s }
func (s sink) Enabled(int) bool                    { return false }
func (s sink) Info(int, string, ...any)            {}
func (s sink) Error(err error, _ string, _ ...any) {}

func TestAPartLogsAsItselfByDefault(t *testing.T) {
	var lines []string
	_, err := cluster.New(&rest.Config{Host: "https://example.invalid"}, func(o *cluster.Options) {
		o.Logger = funcr.New(func(prefix, args string) { lines = append(lines, prefix+args) }, funcr.Options{})
		o.NewCache = func(_ *rest.Config, opts cache.Options) (cache.Cache, error) {
			opts.Logger.Info("hello")
			return &informertest.FakeInformers{}, nil
		}
		o.NewClient = func(_ *rest.Config, opts client.Options) (client.Client, error) {
			opts.Log.Info("hello")
			return nil, nil
		}
	})
	require.NoError(t, err)
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "cache")
	require.NotContains(t, lines[1], "cache")
}

func TestStartReturnsTheErrorOfTheCache(t *testing.T) {
	broken := errors.New("broken")
	inCluster(t, func(t *testing.T, _ *fakeapi.Server, c cluster.Cluster) {
		began := time.Now()
		require.ErrorIs(t, c.Start(t.Context()), broken)
		require.Zero(t, time.Since(began))
	}, func(o *cluster.Options) {
		o.NewCache = func(*rest.Config, cache.Options) (cache.Cache, error) {
			return &informertest.FakeInformers{Error: broken}, nil
		}
	})
}

// The Start of a fake cache returns at once. That is not the end of the cluster.
func TestAClusterRunsUntilItsContextEnds(t *testing.T) {
	inCluster(t, func(t *testing.T, _ *fakeapi.Server, c cluster.Cluster) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		began := time.Now()
		require.NoError(t, c.Start(ctx))
		require.Equal(t, time.Hour, time.Since(began))
	}, func(o *cluster.Options) {
		o.NewCache = func(*rest.Config, cache.Options) (cache.Cache, error) { return &informertest.FakeInformers{}, nil }
	})
}

// "Only a MapperProvider may talk to the server, and the cache": a program that must come up while
// the API server is away has to know which of its options need it.
func TestOnlyTheNamespacesOfAKindMakeNewAskTheServer(t *testing.T) {
	for _, of := range []struct {
		kind cache.ByObject
		asks bool
	}{
		{cache.ByObject{Label: labels.Nothing()}, false},
		{cache.ByObject{Namespaces: map[string]cache.Config{"default": {}}}, true},
	} {
		inCluster(t, func(t *testing.T, api *fakeapi.Server, c cluster.Cluster) {
			require.Equal(t, of.asks, len(api.Requests(fakeapi.Match{})) > 0)
		}, func(o *cluster.Options) {
			o.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.ConfigMap{}: of.kind}
			o.Cache.DefaultNamespaces = map[string]cache.Config{"default": {}}
		})
	}
}
