package cache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/workqueue"
)

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
		configMaps := source.Kind(w.Cache, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{})
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
