package cache_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// The server has 300 ConfigMaps at each moment, and a reader of the cache counts just that, while the
// cache lists them again. A field's index function reads, because it's called in the middle of it.
func TestAReaderOfTheCacheCountsWhatThereIsDuringARelist(t *testing.T) {
	const count = 300
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		names := func(generation string) (names []string) {
			for n := range count {
				names = append(names, fmt.Sprint(generation, "-", n))
			}
			return names
		}
		w.configMaps("default", names("old")...)
		watches := fakeapi.Match{Verb: "watch", Resource: "configmaps", UserAgent: "the-cache"}
		w.server.Inject(fakeapi.Fault{Match: watches, Times: 1, CutAfter: time.Minute})
		reads, synced := 0, false
		counts := map[int]int{}
		ask := func(object client.Object) []string {
			switch reads++; {
			case reads%50 != 0:
			case !synced:
				assert.ErrorContains(t, cache.CheckHealth(w.Cache, time.Hour), "not synced yet",
					"a part of the first list is in the store")
			default:
				var list corev1.ConfigMapList
				assert.NoError(t, w.List(t.Context(), &list, client.InNamespace("default")))
				counts[len(list.Items)]++
			}
			return []string{object.GetName()[:3]}
		}
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "generation", ask))
		w.begin()
		defer w.end()
		require.Len(t, w.listed(), count)
		require.NoError(t, cache.CheckHealth(w.Cache, time.Hour))
		synced = true

		up := w.server.Inject(fakeapi.Fault{Match: watches, Status: fakeapi.InternalError()})
		time.Sleep(2 * time.Minute)
		for _, name := range names("old") {
			w.delete("default", name)
		}
		w.configMaps("default", names("new")...)
		w.server.CompactAll()
		reads = 0
		up()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.NotZero(t, reads, "it didn't list anew")
		require.Len(t, counts, 1, "ConfigMaps by how often a reader counted so many: %v", counts)
		require.NotZero(t, counts[count])
		var list corev1.ConfigMapList
		require.NoError(t, w.List(t.Context(), &list, client.MatchingFields{"generation": "old"}))
		require.Empty(t, list.Items)
		require.NoError(t, w.List(t.Context(), &list, client.MatchingFields{"generation": "new"}))
		require.Len(t, list.Items, count)
	})
}

// A handler that has heard enough removes itself. It must not be called again by another namespace,
// which waits for its turn meanwhile: what it uses may be freed.
func TestAHandlerOfTwoNamespacesThatRemovesItselfIsNotCalledAgain(t *testing.T) {
	inWorld(t, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}},
		func(t *testing.T, w *world) {
			w.namespaces("a", "b")
			w.begin()
			defer w.end()
			from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
			require.NoError(t, err)
			var registration informer.ResourceEventHandlerRegistration
			calls := 0
			registration, err = from.AddEventHandler(informer.ResourceEventHandlerFuncs{
				AddFunc: func(any) {
					calls++
					time.Sleep(time.Minute) // the other namespace's call is waiting by now
					if calls == 1 {
						assert.NoError(t, from.RemoveEventHandler(registration))
					}
				},
			})
			require.NoError(t, err)
			w.configMaps("a", "first")
			w.configMaps("b", "second")
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Equal(t, 1, calls, "it removed itself in the first call")
		})
}
