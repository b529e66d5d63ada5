package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// withdraw lets the server refuse the cache's next watch of ConfigMaps, and ends the one that is open, as a server
// does after some minutes.
func (w *world) withdraw() (grant func()) {
	grant = w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
	time.Sleep(2 * time.Hour)
	return grant
}

const missingRule = `this client may not watch configmaps in all namespaces, bind it to a ClusterRole with the rule {apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}`

// Without that, a controller works on a state of last week, and looks as well as ever.
func TestARightThatIsWithdrawnIsNoticedByTheHealthCheck(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.widget("default", "b", nil)
		var notStarted *cache.ErrCacheNotStarted
		require.ErrorAs(t, cache.CheckHealth(w.Cache, time.Minute), &notStarted)
		w.begin()
		defer w.end()
		require.NoError(t, cache.CheckHealth(w.Cache, time.Minute), "nobody has asked for an informer")
		require.Equal(t, []string{"default/a"}, w.listed())
		require.NoError(t, w.List(t.Context(), freeListOf(widgetKind)))
		require.NoError(t, cache.CheckHealth(w.Cache, time.Minute))

		grant := w.withdraw()
		err := cache.CheckHealth(w.Cache, time.Minute)
		require.ErrorContains(t, err, missingRule)
		require.NotContains(t, err.Error(), "widgets", "they are watched")
		require.True(t, apierrors.IsForbidden(err))
		var refused *informer.RefusedError
		require.ErrorAs(t, err, &refused)
		require.NoError(t, cache.CheckHealth(w.Cache, 3*time.Hour), "that is how long the caller can wait")
		require.Equal(t, []string{"default/a"}, w.listed(), "reads go on")
		grant()
		time.Sleep(time.Minute)
		require.NoError(t, cache.CheckHealth(w.Cache, time.Minute))

		w.server.Unregister(widgets)
		time.Sleep(time.Hour)
		require.NoError(t, cache.CheckHealth(w.Cache, time.Minute), "a kind that is gone is not the server's trouble")
	})
}

func TestAnInformerThatHasNotListedIsNotHealthy(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		w.begin()
		defer w.end()
		require.Error(t, w.List(t.Context(), &corev1.ConfigMapList{}))
		synctest.Wait() // the read knows it a moment before the informer has noted it
		require.ErrorContains(t, cache.CheckHealth(w.Cache, time.Hour), missingRule)
	})
}

func TestACacheOfSomebodyElseHasNoHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.ErrorContains(t, cache.CheckHealth(foreign{}, time.Minute), "a cache_test.foreign does not say")
	})
}

// Whoever must not act on what was true before a right was withdrawn can ask for errors.
func TestReadsCanBeMadeToFailWhenARightIsWithdrawn(t *testing.T) {
	inWorld(t, cache.Options{ReaderFailOnRefusal: true}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.widget("default", "b", nil)
		w.begin()
		defer w.end()
		require.Equal(t, []string{"default/a"}, w.listed())
		require.NoError(t, w.List(t.Context(), freeListOf(widgetKind)))
		grant := w.withdraw()
		reads := map[string]func() error{
			"get":  func() error { return w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}) },
			"list": func() error { return w.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("default")) },
			"all": func() error {
				for _, err := range cache.All(t.Context(), w.Cache, &corev1.ConfigMap{}) {
					return err
				}
				return nil
			},
			"wait": func() error {
				return w.waiter().WaitFor(t.Context(), &corev1.ConfigMap{}, key("default", "a"), "1")
			},
		}
		for _, name := range []string{"get", "list", "all", "wait"} {
			err := reads[name]()
			require.ErrorContains(t, err, missingRule, name)
			require.True(t, apierrors.IsForbidden(err), name)
			require.False(t, apierrors.IsNotFound(err), name)
		}
		require.NoError(t, w.List(t.Context(), freeListOf(widgetKind)), "other kinds are read")
		grant()
		time.Sleep(time.Minute)
		for _, name := range []string{"get", "list", "all", "wait"} {
			require.NoError(t, reads[name](), name)
		}

		// A 404 is no withdrawn right, and proves little.
		notFound := apierrors.NewGenericServerResponse(404, "list", widgets.GroupResource(), "", "", 0, true).Status()
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "widgets", UserAgent: "the-cache"}, Status: &notFound})
		time.Sleep(time.Hour)
		require.NoError(t, w.List(t.Context(), freeListOf(widgetKind)))
	})
}
