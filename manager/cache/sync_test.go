package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/workqueue"
)

// within is a context that ends, in the bubble's time.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, errors.New("the test's patience"))
	t.Cleanup(cancel)
	return ctx
}

// Somebody whose program does not start must see which right is missing, and not "timed out".
func TestAKindThatMayNotBeReadIsAnErrorThatNamesTheMissingRule(t *testing.T) {
	inWorld(t, inNamespaces("shop", "default"), func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		allowed := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", Namespace: "shop", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		w.begin()
		defer w.end()
		const rule = `configmaps in namespace shop, bind it to a Role there with the rule {apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"]}`

		began := time.Now()
		err := w.List(t.Context(), &corev1.ConfigMapList{})
		require.ErrorContains(t, err, "this client may not watch "+rule)
		require.Zero(t, time.Since(began), "a read fails at once, as one from the server does")
		require.True(t, apierrors.IsForbidden(err))
		var refused *informer.RefusedError
		require.ErrorAs(t, err, &refused)
		require.ErrorContains(t, w.Get(t.Context(), key("shop", "a"), &corev1.ConfigMap{}), rule)
		require.NoError(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}), "the other namespace may be read")
		require.Equal(t, []string{"default/a"}, w.listed(client.InNamespace("default")))
		for _, err := range cache.All(t.Context(), w.Cache, &corev1.ConfigMap{}, client.InNamespace("default")) {
			require.NoError(t, err)
		}
		require.ErrorContains(t, w.List(t.Context(), &corev1.ConfigMapList{}), rule, "still")

		require.False(t, w.WaitForCacheSync(within(t, time.Minute)))
		err = cache.WaitForSync(within(t, time.Minute), w.Cache)
		var failed *cache.SyncError
		require.ErrorAs(t, err, &failed)
		require.Len(t, failed.Failures, 1, "the other namespace has synced")
		require.ErrorContains(t, err, rule)
		require.ErrorContains(t, err, "the test's patience")
		_, err = w.GetInformer(within(t, time.Minute), &corev1.ConfigMap{})
		require.ErrorContains(t, err, rule)

		// The right is granted, and nobody has to start anything again.
		allowed()
		require.NoError(t, cache.WaitForSync(within(t, time.Minute), w.Cache))
		require.Equal(t, []string{"default/a"}, w.listed())
	})
}

func TestAReadWaitsForTheFirstListAndNoLongerThanItsContext(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Delay: 10 * time.Second})
		w.begin()
		defer w.end()
		err := w.Get(within(t, time.Second), key("default", "a"), &corev1.ConfigMap{})
		require.ErrorContains(t, err, "configmaps cannot be read from the cache")
		require.ErrorContains(t, err, "the test's patience")
		require.False(t, apierrors.IsNotFound(err))
		require.NoError(t, w.Get(within(t, time.Minute), key("default", "a"), &corev1.ConfigMap{}))
	})
}

// A read that succeeded before must not fail because a right was taken away: the cache has what it had.
func TestReadsGoOnWhileTheServerIsAway(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		require.Equal(t, []string{"default/a"}, w.listed())
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		time.Sleep(2 * time.Hour)
		require.Equal(t, []string{"default/a"}, w.listed())
		require.NoError(t, cache.WaitForSync(t.Context(), w.Cache))
	})
}

func TestWaitingForACacheThatIsNotStartedSaysSo(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		var stopped *cache.ErrCacheNotStarted
		require.ErrorAs(t, cache.WaitForSync(within(t, time.Second), w.Cache), &stopped)
	})
}

// A cache of somebody else has no reasons to give.
func TestWaitForSyncWorksWithAnyCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, cache.WaitForSync(t.Context(), foreign{synced: true}))
		require.ErrorContains(t, cache.WaitForSync(t.Context(), foreign{}), "a cache_test.foreign does not say why")
	})
}

type foreign struct {
	cache.Informers
	synced bool
}

func (f foreign) WaitForCacheSync(context.Context) bool { return f.synced }

// Objects whose kind is gone are gone. But a reconciler that is told "not found" does its work of deletion; one
// that is told that the kind is gone does not.
func TestAKindThatIsDeletedStopsItsInformerAndComesBackWithTheKind(t *testing.T) {
	for _, form := range []client.Object{freeOf(widgetKind), metadataOf(widgetKind)} {
		inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
			w.widget("default", "a", nil)
			w.begin()
			defer w.end()
			from, err := w.GetInformer(t.Context(), form)
			require.NoError(t, err)
			hears := newHearing()
			_, err = from.AddEventHandler(hears)
			require.NoError(t, err)
			synctest.Wait()
			get := func() error { return w.Get(t.Context(), key("default", "a"), form.DeepCopyObject().(client.Object)) }
			require.NoError(t, get())

			w.server.Unregister(widgets)
			time.Sleep(2 * time.Minute)
			err = get()
			var gone *cache.KindGoneError
			require.ErrorAs(t, err, &gone)
			require.False(t, apierrors.IsNotFound(err), "not found is what is said of objects")
			require.True(t, meta.IsNoMatchError(err))
			require.ErrorContains(t, err, "shop.example.com/v1, Kind=Widget any more")
			for _, err := range cache.All(t.Context(), w.Cache, form) {
				require.ErrorAs(t, err, &gone)
			}
			require.False(t, from.IsStopped(), "it waits")
			if _, ok := form.(*metav1.PartialObjectMetadata); ok { // an informer that is new, and has nothing to show
				err = w.Get(t.Context(), key("default", "a"), freeOf(widgetKind))
				require.ErrorContains(t, err, "the API server does not serve shop.example.com/v1")
				require.False(t, apierrors.IsNotFound(err), "the 404 is not the object's")
				require.NoError(t, w.RemoveInformer(t.Context(), freeOf(widgetKind)))
			}

			w.server.ForgetRequests()
			time.Sleep(time.Hour)
			require.Empty(t, w.requests("widgets"), "nobody asks for objects of a kind that is not there")

			w.server.Register(widgetHere)
			w.widget("default", "a", nil)
			w.widget("default", "b", nil)
			time.Sleep(time.Minute)
			require.NoError(t, get())
			w.widget("default", "c", nil)
			synctest.Wait()
			as := fmt.Sprintf("%T default/", form)
			require.Equal(t, []string{"initial " + as + "a", "delete " + as + "a", "add " + as + "a", "add " + as + "b", "add " + as + "c"}, hears.all())
		})
	}
}

// The server ends all watches when it deletes a kind, and not every one has sent the deletions by then.
func TestWhatIsLeftOfAKindThatIsGoneIsReportedAsDeleted(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.widget("default", "a", nil)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "widgets"}, Times: 1, CutAfter: time.Minute, CutAbruptly: true, DelayEvents: time.Hour})
		w.begin()
		defer w.end()
		from, err := w.GetInformer(t.Context(), freeOf(widgetKind), cache.BlockUntilSynced(false))
		require.NoError(t, err)
		hears := newHearing()
		_, err = from.AddEventHandler(hears)
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		require.True(t, from.HasSynced())
		unwatched := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "widgets"}, Status: fakeapi.Unavailable()})
		w.server.Unregister(widgets)
		time.Sleep(10 * time.Minute)
		unwatched()
		time.Sleep(10 * time.Minute)
		var gone *cache.KindGoneError
		require.ErrorAs(t, w.List(t.Context(), freeListOf(widgetKind)), &gone)
		require.Len(t, hears.all(), 2)
		require.Contains(t, hears.all()[1], "*unstructured.Unstructured default/a")
	})
}

// A server that restarts answers 404 for a while. Reads must go on, and no handler may hear of deletions.
func TestAServerThatSaysNotFoundForAWhileLosesNoKind(t *testing.T) {
	notFound := apierrors.NewGenericServerResponse(404, "list", widgets.GroupResource(), "", "", 0, true).Status()
	for _, c := range []struct {
		what string
		last time.Duration
	}{{"for 20 seconds", 20 * time.Second}, {"for an hour, but discovery has it", time.Hour}} {
		inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
			w.widget("default", "a", nil)
			w.begin()
			defer w.end()
			from, err := w.GetInformer(t.Context(), freeOf(widgetKind))
			require.NoError(t, err)
			hears := newHearing()
			_, err = from.AddEventHandler(hears)
			require.NoError(t, err)
			synctest.Wait()
			w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Verb: "watch", Resource: "widgets"}, Times: 1, CutAfter: time.Second})
			found := w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "widgets", UserAgent: "the-cache"}, Status: &notFound})
			w.server.CompactAll()
			time.Sleep(c.last)
			require.NoError(t, w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)), c.what)
			found()
			time.Sleep(2 * time.Hour)
			require.NoError(t, w.Get(t.Context(), key("default", "a"), freeOf(widgetKind)), c.what)
			require.Len(t, hears.all(), 1, c.what)
		})
	}
}

// A kind that is not there yet is an error that says so, and can be waited for.
func TestAKindThatIsInstalledLaterCanBeWaitedFor(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.server.Unregister(widgets)
		w.begin()
		defer w.end()
		_, err := w.GetInformer(t.Context(), freeOf(widgetKind))
		require.True(t, meta.IsNoMatchError(err), "%v", err)
		require.True(t, meta.IsNoMatchError(w.List(t.Context(), freeListOf(widgetKind))))
		waiter := w.Cache.(cache.KindWaiter)
		err = waiter.WaitForKind(within(t, time.Minute), widgetKind)
		require.ErrorContains(t, err, "the test's patience")
		require.True(t, meta.IsNoMatchError(err))

		time.AfterFunc(time.Hour, func() { w.server.Register(widgetHere) })
		began := time.Now()
		require.NoError(t, waiter.WaitForKind(t.Context(), widgetKind))
		require.InDelta(t, time.Hour, time.Since(began), float64(time.Minute))
		require.NoError(t, w.List(t.Context(), freeListOf(widgetKind)))
	})
}

// A program that has changed its mind about one kind must not fail to start because of it.
func TestAnInformerThatIsRemovedIsNotWaitedFor(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "widgets", UserAgent: "the-cache"}, Status: fakeapi.Forbidden()})
		_, err := w.GetInformer(t.Context(), freeOf(widgetKind))
		require.NoError(t, err)
		_, err = w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		w.begin()
		defer w.end()
		synced := make(chan bool, 1)
		go func() { synced <- w.WaitForCacheSync(t.Context()) }()
		synctest.Wait()
		require.Empty(t, synced)
		require.NoError(t, w.RemoveInformer(t.Context(), freeOf(widgetKind)))
		require.True(t, <-synced)
	})
}

// A readiness check asks in this way, and must not be told by chance.
func TestAnEndedContextAsksWhetherAllHaveListedNow(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		ended, end := context.WithCancelCause(t.Context())
		end(errors.New("now"))
		_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		w.server.Inject(fakeapi.Fault{Match: fakeapi.Match{Resource: "configmaps", UserAgent: "the-cache"}, Status: fakeapi.Unavailable(), Times: 1})
		ask := func() (synced int) {
			for range 100 {
				if w.WaitForCacheSync(ended) {
					synced++
				}
			}
			return synced
		}
		require.Zero(t, ask(), "it does not run")
		w.begin()
		defer w.end()
		synctest.Wait()
		require.Zero(t, ask(), "it has not listed")
		time.Sleep(time.Minute)
		require.Equal(t, 100, ask())
	})
}

// inWorldWithASource has a cache with an informer of Secrets, whose requests meet a fault, and a source of ConfigMaps.
func inWorldWithASource(t *testing.T, fault fakeapi.Fault, test func(t *testing.T, configMaps source.SyncingSource)) {
	t.Helper()
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		fault.Match = fakeapi.Match{Resource: "secrets", UserAgent: "the-cache"}
		w.server.Inject(fault)
		w.begin()
		defer w.end()
		_, err := w.GetInformer(t.Context(), &corev1.Secret{}, cache.BlockUntilSynced(false))
		require.NoError(t, err)
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		configMaps := source.Kind[client.Object](w.Cache, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{})
		require.NoError(t, configMaps.Start(ctx, queue))
		test(t, configMaps)
	})
}

// A reconciler that reads another kind, or a map function that does, would wait for that one's first list itself. If the
// manager is stopped meanwhile, it gets an error. But a kind that the program may not list must not keep it from starting.
func TestASourceIsReadyWhenTheOtherKindsOfTheCacheHaveListedOrAreRefused(t *testing.T) {
	for _, test := range []struct {
		fault fakeapi.Fault
		takes time.Duration
	}{
		{fakeapi.Fault{Delay: time.Minute}, time.Minute},
		{fakeapi.Fault{Status: fakeapi.Forbidden()}, 0},
	} {
		inWorldWithASource(t, test.fault, func(t *testing.T, configMaps source.SyncingSource) {
			began := time.Now()
			require.NoError(t, configMaps.WaitForSync(t.Context()))
			require.Equal(t, test.takes, time.Since(began))
		})
	}
}

// A controller that cannot start says which kind it waits for.
func TestASourceThatWaitsForAnotherKindNamesIt(t *testing.T) {
	inWorldWithASource(t, fakeapi.Fault{Status: fakeapi.Unavailable()}, func(t *testing.T, configMaps source.SyncingSource) {
		err := configMaps.WaitForSync(within(t, time.Minute))
		require.ErrorContains(t, err, "Kind=Secret")
		require.ErrorContains(t, err, "the test's patience")
	})
}
