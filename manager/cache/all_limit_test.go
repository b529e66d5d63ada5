package cache_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// A program that wants to know whether there is any object asks for one.
func TestALimitOfOneIsOneObjectOfAllInformers(t *testing.T) {
	inWorld(t, inNamespaces("default", "shop"), func(t *testing.T, w *world) {
		w.namespaces("shop")
		w.configMaps("default", "a", "b")
		w.configMaps("shop", "a", "b")
		w.begin()
		defer w.end()
		require.Len(t, iterated(t, w.Cache, &corev1.ConfigMap{}, client.Limit(1)), 1)
		require.Len(t, iterated(t, w.Cache, metadataOf(configMapKind), client.Limit(1)), 1)
		require.Len(t, iterated(t, w.Cache, &corev1.ConfigMap{}, client.Limit(3)), 3)
	})
}

// A loop that goes on after its break is a panic.
func TestALoopMayEndAtAnyObject(t *testing.T) {
	inWorld(t, inNamespaces("default", "shop"), func(t *testing.T, w *world) {
		w.namespaces("shop")
		w.configMaps("default", "a", "b")
		w.configMaps("shop", "a", "b")
		w.begin()
		defer w.end()
		for last := range 5 {
			seen := 0
			for _, err := range cache.All(t.Context(), w.Cache, &corev1.ConfigMap{}) {
				require.NoError(t, err)
				if seen++; seen > last {
					break
				}
			}
			require.Equal(t, min(last+1, 4), seen)
		}
	})
}

func TestAllYieldsOnlyObjectsWithTheName(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.namespaces("shop")
		w.configMaps("default", "a", "b")
		w.configMaps("shop", "a", "b")
		w.begin()
		defer w.end()
		require.Equal(t, []string{"default/a", "shop/a"}, iterated(t, w.Cache, &corev1.ConfigMap{}, client.MatchingFields{"metadata.name": "a"}))
	})
}

// explaining is a cache that knows why it has not synced.
type explaining struct{ cache.Informers }

// WaitForCacheSync implements cache.Informers.
func (explaining) WaitForCacheSync(context.Context) bool { return true }

// WaitForSync is what a cache of this package has.
func (explaining) WaitForSync(context.Context) error { return context.DeadlineExceeded }

func TestACacheThatCanSayWhyIsAsked(t *testing.T) {
	require.ErrorIs(t, cache.WaitForSync(t.Context(), explaining{}), context.DeadlineExceeded)
}

func TestAReadBeforeTheStartSaysWhatToDo(t *testing.T) {
	require.EqualError(t, &cache.ErrCacheNotStarted{}, "the cache does not run yet: call its Start before anything is read from it")
}
