package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/loopwright/loopwright/manager/metrics"
)

func TestAWaitThatTakesTooLongIsAnErrorThatSaysForWhat(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		ctx, end := context.WithTimeout(w.Context(), time.Second)
		defer end()
		consistencyWait.Reset()
		err := w.Get(ctx, shopKey("a"), &corev1.ConfigMap{})
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorContains(w, err, "get ConfigMap shop/a, until the cache has seen what was written")
		w.waits(w.get("a"))
		w.answersAtOnce(w.list())
		observeWait("list", time.Second, errors.New("another error"))
		counts, seconds := waitsCounted(w.T)
		require.Equal(w, map[string]uint64{"get timeout": 1, "get success": 2, "list success": 1, "list error": 1}, counts)
		require.Equal(w, map[string]float64{"get timeout": 1, "get success": 0, "list success": 0, "list error": 1}, seconds)
	})
}

// The context ends while the read waits for a delete. The next read has to wait for it again.
func TestWhatWasNotSeenIsWaitedForAgain(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		for range 2 {
			ctx, end := context.WithTimeout(w.Context(), time.Second)
			require.ErrorIs(w, w.Get(ctx, shopKey("a"), &corev1.ConfigMap{}), context.DeadlineExceeded)
			require.ErrorIs(w, w.List(ctx, &corev1.ConfigMapList{}), context.DeadlineExceeded)
			end()
		}
		w.waits(w.get("a"))
	})
}

// A cache that has not seen that an object was made does not have it, as if it had seen the delete.
func TestAReadWaitsForTheMakingBeforeTheDelete(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		require.NoError(w, w.Delete(w.Context(), configMap("a")))
		w.waits(w.get("a"))
		require.Equal(w, []string{"*v1.ConfigMap shop/a", "*v1.ConfigMap shop/a gone"}, w.cache.waits)
	})
}

func TestTheCachesAnswerIsTheClients(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.True(w, apierrors.IsNotFound(w.get("missing")()))
		require.True(w, runtime.IsNotRegisteredError(w.Create(w.Context(), &stranger{})))
		require.True(w, runtime.IsNotRegisteredError(w.Delete(w.Context(), &stranger{})))
		require.ErrorContains(w, w.Apply(w.Context(), notApplicable{}), "cannot be applied")
		unknown := schema.GroupVersionKind{Group: "nobody.example", Version: "v1", Kind: "Nothing"}
		require.True(w, meta.IsNoMatchError(w.Apply(w.Context(), ApplyConfigurationFromUnstructured(newUnstructured(unknown)))))
		w.cache.broken = errors.New("no such index")
		require.Equal(w, w.cache.broken, w.get("a")())
		require.Equal(w, w.cache.broken, w.list()())
	})
}

// waitsCounted are the waits in the metric, by what was done and how it ended, and their seconds.
func waitsCounted(t *testing.T) (counts map[string]uint64, seconds map[string]float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	counts, seconds = map[string]uint64{}, map[string]float64{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_client_consistency_wait_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := metric.GetLabel() // sorted by name: operation, result
			key := labels[0].GetValue() + " " + labels[1].GetValue()
			counts[key], seconds[key] = metric.GetHistogram().GetSampleCount(), metric.GetHistogram().GetSampleSum()
		}
	}
	return counts, seconds
}

// Such objects would be waited for until the next bookmark, a minute later.
func TestWhatTheCacheDoesNotHoldIsNotWaitedFor(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.cache.ignore["a"] = true
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		require.NoError(w, w.Apply(w.Context(), coreapply.ConfigMap("a", "shop"), FieldOwner("me")))
		w.answersAtOnce(w.get("a"))
		held := configMap("held")
		held.Finalizers = []string{"shop.example/wait"}
		w.cache.ignore["held"] = true
		require.NoError(w, w.Create(w.Context(), held))
		require.NoError(w, w.Delete(w.Context(), held))
		w.answersAtOnce(w.get("held"))
		w.answersAtOnce(w.list())

		require.NoError(w, w.Create(w.Context(), configMap("b")))
		w.waits(w.get("b"))
		w.cache.ignore["b"] = true
		for range 2 { // the first takes it out of the cache, the second has no event
			out := configMap("b")
			out.Labels = map[string]string{"out": "true"}
			require.NoError(w, w.Update(w.Context(), out))
		}
		w.waits(w.get("b"))
		w.answersAtOnce(w.list())
		require.Zero(w, w.remembered(), "the cache has come so far")
	})
}

// A controller writes events, and never reads any.
func TestWritesOfAKindThatIsNotInTheCacheAreForgottenAtOnce(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		w.cache.isEmpty = true
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		require.Zero(w, w.remembered())
	})
}

// A controller that only writes, events for instance, would fill the memory.
func TestWritesThatNobodyReadsAreForgottenWhenTheCacheHasSeenThem(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		most := 0
		for i := range 200 {
			require.NoError(w, w.Create(w.Context(), configMap(fmt.Sprint("a", i))))
			w.cache.see(w.Context())
			most = max(most, w.remembered())
		}
		require.LessOrEqual(w, most, pruneFrom+1)
		require.Empty(w, w.cache.waits, "to look is not to wait")
		require.Less(w, w.cache.looks, 200, "nor must every write look at all that were before")

		for i := range 200 {
			obj := configMap(fmt.Sprint("a", i))
			obj.Data = map[string]string{"changed": "true"}
			require.NoError(w, w.Update(w.Context(), obj))
		}
		require.GreaterOrEqual(w, w.remembered(), 200, "what the cache has not seen stays")
		w.waits(w.get("a199"))
	})
}

func TestAllCannotBeDeletedAtOnce(t *testing.T) {
	inLateWorld(t, CacheOptions{}, func(w *lateWorld) {
		require.NoError(w, w.Create(w.Context(), configMap("a")))
		w.cache.see(w.Context())
		w.wire.requests()
		require.ErrorContains(w, w.DeleteAllOf(w.Context(), &corev1.ConfigMap{}, InNamespace("shop")), "list, and delete one by one")
		require.Empty(w, w.wire.requests(), "nothing must have been deleted")
	})
}
