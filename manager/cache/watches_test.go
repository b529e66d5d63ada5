package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// Every watch costs the server memory and the cluster traffic.
func TestAKindHasOneWatchHoweverManyReadersItHas(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		for range 3 {
			require.Equal(t, []string{"default/a"}, w.listed())
			require.NoError(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}))
			_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
			require.NoError(t, err)
			_, err = w.GetInformerForKind(t.Context(), configMapKind)
			require.NoError(t, err)
		}
		require.Equal(t, 1, w.watches("configmaps"))
	})
}

// A program that reads the metadata of what it also reads as a whole must not hold and watch it twice.
func TestMetadataIsReadFromWholeObjectsWhereThereAreSome(t *testing.T) {
	for _, c := range []struct {
		what string
		full client.Object
	}{{"typed", &corev1.ConfigMap{}}, {"unstructured", freeOf(configMapKind)}} {
		t.Run(c.what, func(t *testing.T) {
			inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
				made := w.create(&corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: "default", Name: "a", Labels: map[string]string{"color": "red"}, Annotations: map[string]string{"note": "x"}, Finalizers: []string{"example.com/keep"},
						OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "s", UID: "1"}},
					},
					Data: map[string]string{"k": "v"},
				})
				w.begin()
				defer w.end()
				require.NoError(t, w.Get(t.Context(), key("default", "a"), c.full))
				partial, list := metadataOf(configMapKind), metadataListOf(configMapKind)
				require.NoError(t, w.Get(t.Context(), key("default", "a"), partial))
				require.Equal(t, made.ObjectMeta, partial.ObjectMeta)
				require.NoError(t, w.List(t.Context(), list, client.MatchingLabels{"color": "red"}))
				require.Equal(t, []metav1.PartialObjectMetadata{*partial}, list.Items)
				require.NoError(t, w.List(t.Context(), list, client.MatchingLabels{"color": "blue"}))
				require.Empty(t, list.Items)
				require.Equal(t, 1, w.watches("configmaps"))
			})
		})
	}
}

// What a Go type does not know is lost when it is decoded. An unstructured reader that writes the rest
// back deletes it.
func TestAnUnstructuredObjectIsNeverMadeOfATypedOneNorTheOtherWayRound(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		require.Equal(t, []string{"default/a"}, w.listed())
		require.NoError(t, w.Get(t.Context(), key("default", "a"), freeOf(configMapKind)))
		require.Equal(t, 2, w.watches("configmaps"))
	})
}

// A metadata informer that was there first has the handlers of somebody. It stays.
func TestMetadataThatWasAskedForFirstHasAWatchOfItsOwn(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		require.NoError(t, w.Get(t.Context(), key("default", "a"), metadataOf(configMapKind)))
		require.Equal(t, []string{"default/a"}, w.listed())
		require.NoError(t, w.Get(t.Context(), key("default", "a"), metadataOf(configMapKind)))
		require.Equal(t, 2, w.watches("configmaps"))
	})
}

// A metadata reader must not be left with a store that nobody updates.
func TestSharedMetadataOutlivesTheInformerThatItCameFrom(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		typed, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		partial, err := w.GetInformer(t.Context(), metadataOf(configMapKind))
		require.NoError(t, err)
		typedHears, partialHears := newHearing(), newHearing()
		_, err = typed.AddEventHandler(typedHears)
		require.NoError(t, err)
		_, err = partial.AddEventHandler(partialHears)
		require.NoError(t, err)
		synctest.Wait()

		require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.True(t, typed.IsStopped())
		require.False(t, partial.IsStopped())
		w.configMaps("default", "b")
		synctest.Wait()
		require.Equal(t, []string{"initial *v1.ConfigMap default/a"}, typedHears.all())
		require.Equal(t, []string{"initial *v1.PartialObjectMetadata default/a", "add *v1.PartialObjectMetadata default/b"}, partialHears.all())
		require.NoError(t, w.Get(t.Context(), key("default", "b"), metadataOf(configMapKind)))

		require.Equal(t, []string{"default/a", "default/b"}, w.listed(), "the typed view is back, on the same informer")
		require.Equal(t, 1, w.watches("configmaps"))
		require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
		require.NoError(t, w.RemoveInformer(t.Context(), metadataOf(configMapKind)))
		require.NoError(t, w.RemoveInformer(t.Context(), metadataOf(configMapKind)), "removing what is not there does no harm")
		synctest.Wait()
		w.configMaps("default", "c")
		synctest.Wait()
		require.Len(t, partialHears.all(), 2, "nobody watches any more")
	})
}

// A program that stops a kind and starts it again would fail, and only if somebody else reads its metadata.
func TestIndexersGoWithTheirInformerEvenIfItGoesOnForOthers(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		calls := 0
		indexers := informer.Indexers{"names": func(object any) ([]string, error) {
			calls++
			return []string{object.(client.Object).GetName()}, nil
		}}
		for range 3 {
			typed, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
			require.NoError(t, err)
			_, err = w.GetInformer(t.Context(), metadataOf(configMapKind))
			require.NoError(t, err)
			require.NoError(t, typed.AddIndexers(indexers))
			require.Error(t, typed.AddIndexers(indexers), "the name is taken")
			require.NoError(t, w.RemoveInformer(t.Context(), &corev1.ConfigMap{}))
			require.ErrorContains(t, typed.AddIndexers(indexers), "ask the cache for another one")
		}
		calls = 0
		w.configMaps("default", "b")
		synctest.Wait()
		require.NoError(t, w.Get(t.Context(), key("default", "b"), metadataOf(configMapKind)))
		require.Zero(t, calls, "nobody has these indices any more")
	})
}

func TestAReadMayBeKeptFromStartingAnInformer(t *testing.T) {
	inWorld(t, cache.Options{ReaderFailOnMissingInformer: true}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		var missing *cache.ErrResourceNotCached
		require.ErrorAs(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}), &missing)
		require.Equal(t, configMapKind, missing.GVK)
		require.ErrorAs(t, w.List(t.Context(), &corev1.ConfigMapList{}), &missing)
		require.False(t, apierrors.IsNotFound(w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{})))
		require.Zero(t, w.watches("configmaps"))
		_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		require.Equal(t, []string{"default/a"}, w.listed())
	})
}

func TestNothingIsReadFromACacheThatDoesNotRun(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		var stopped *cache.ErrCacheNotStarted
		require.ErrorAs(t, w.Get(t.Context(), key("default", "a"), &corev1.ConfigMap{}), &stopped)
		require.ErrorAs(t, w.List(t.Context(), &corev1.ConfigMapList{}), &stopped)
		_, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err, "an informer can be had before, and is not waited for")
		w.begin()
		require.True(t, w.WaitForCacheSync(t.Context()))
		require.Equal(t, []string{"default/a"}, w.listed())
		w.end()
		require.Error(t, w.Start(t.Context()), "a cache is started once")
		_, err = w.GetInformer(t.Context(), &corev1.Secret{})
		require.ErrorContains(t, err, "has stopped")
	})
}

// Bookmarks can be turned off for a server that cannot send them.
func TestAnInformerWithoutBookmarksAsksForNone(t *testing.T) {
	for _, bookmarks := range []bool{true, false} {
		inWorld(t, cache.Options{DefaultEnableWatchBookmarks: &bookmarks}, func(t *testing.T, w *world) {
			w.configMaps("default", "a")
			w.begin()
			defer w.end()
			require.Equal(t, []string{"default/a"}, w.listed())
			synctest.Wait()
			for _, r := range w.server.Requests(fakeapi.Match{Verb: "watch", Resource: "configmaps"}) {
				require.Equal(t, bookmarks, r.Query.Get("allowWatchBookmarks") == "true")
			}
			require.Equal(t, 1, w.watches("configmaps"))
		})
	}
}

// A handler that looks at something besides the objects counts on being called once a period.
func TestHandlersAreToldAllObjectsAgainOnceAPeriod(t *testing.T) {
	inWorld(t, cache.Options{SyncPeriod: new(10 * time.Minute)}, func(t *testing.T, w *world) {
		w.configMaps("default", "a")
		w.begin()
		defer w.end()
		from, err := w.GetInformer(t.Context(), &corev1.ConfigMap{})
		require.NoError(t, err)
		byDefault, never, partial := newHearing(), newHearing(), newHearing()
		_, err = from.AddEventHandler(byDefault)
		require.NoError(t, err)
		_, err = from.AddEventHandlerWithResyncPeriod(never, 0)
		require.NoError(t, err)
		shared, err := w.GetInformer(t.Context(), metadataOf(configMapKind))
		require.NoError(t, err)
		_, err = shared.AddEventHandlerWithResyncPeriod(partial, time.Minute)
		require.NoError(t, err)
		time.Sleep(59 * time.Second)
		require.Len(t, partial.all(), 1)
		time.Sleep(8 * time.Minute)
		synctest.Wait()
		require.Len(t, byDefault.all(), 1)
		require.Contains(t, partial.all(), "resync *v1.PartialObjectMetadata default/a", "the same object twice, as the informer told it")
		time.Sleep(3 * time.Minute) // 10 minutes, and up to a tenth more or less
		require.Equal(t, []string{"initial *v1.ConfigMap default/a", "resync *v1.ConfigMap default/a"}, byDefault.all())
		require.Len(t, never.all(), 1)
	})
}
