package cache_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
)

// iterated are the names that All yields, sorted.
func iterated[T client.Object](t *testing.T, c client.Reader, example T, opts ...client.ListOption) []string {
	t.Helper()
	found := []string{}
	for object, err := range cache.All(t.Context(), c, example, opts...) {
		require.NoError(t, err)
		found = append(found, object.GetNamespace()+"/"+object.GetName())
	}
	slices.Sort(found)
	return found
}

func TestAllYieldsWhatListReturns(t *testing.T) {
	inWorld(t, inNamespaces("default", "shop"), func(t *testing.T, w *world) {
		w.namespaces("shop")
		for i := range 5 {
			w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i), Labels: map[string]string{"odd": fmt.Sprint(i % 2)}}, Data: map[string]string{"size": fmt.Sprint(i)}})
		}
		w.configMaps("shop", "a")
		require.NoError(t, w.IndexField(t.Context(), &corev1.ConfigMap{}, "data.size", dataField("size")))
		w.begin()
		defer w.end()
		for _, opts := range [][]client.ListOption{
			nil, {client.InNamespace("default")}, {client.MatchingLabels{"odd": "1"}}, {client.MatchingFields{"data.size": "3"}},
			{client.MatchingFields{"data.size": "3"}, client.MatchingLabels{"odd": "0"}}, {client.MatchingFields{"metadata.name": "a"}},
		} {
			require.Equal(t, w.listed(opts...), iterated(t, w.Cache, &corev1.ConfigMap{}, opts...))
		}
		require.Len(t, iterated(t, w.Cache, &corev1.ConfigMap{}), 6)
		require.Len(t, iterated(t, w.Cache, client.Object(&corev1.ConfigMap{})), 6, "any interface will do")
		require.Len(t, iterated(t, w.Cache, metadataOf(configMapKind)), 6)
		require.Len(t, iterated(t, w.Cache, freeOf(configMapKind), client.InNamespace("shop")), 1)
		require.Len(t, iterated(t, w.Cache, &corev1.ConfigMap{}, client.Limit(2)), 2)
		require.Len(t, iterated(t, w.Cache, &corev1.ConfigMap{}, client.Limit(6)), 6)
		require.Len(t, iterated(t, w.Cache, metadataOf(configMapKind), client.Limit(5)), 5)
	})
}

// A loop that copied would cost as much as a list.
func TestAllYieldsWhatIsInTheCache(t *testing.T) {
	inWorld(t, cache.Options{}, func(t *testing.T, w *world) {
		w.configMaps("default", "a") // one, because the order is not fixed
		w.begin()
		defer w.end()
		var first [2]*corev1.ConfigMap
		for i := range first {
			for object, err := range cache.All(t.Context(), w.Cache, &corev1.ConfigMap{}) {
				require.NoError(t, err)
				first[i] = object
				break
			}
		}
		require.Same(t, first[0], first[1])
		require.Equal(t, "ConfigMap", first[0].Kind)
	})
}

func TestAllEndsWithItsError(t *testing.T) {
	inWorld(t, inNamespaces("default"), func(t *testing.T, w *world) {
		w.configMaps("default", "a", "b")
		only := func(c client.Reader, opts ...client.ListOption) error {
			var errs []error
			for object, err := range cache.All(t.Context(), c, &corev1.ConfigMap{}, opts...) {
				require.Nil(t, object)
				errs = append(errs, err)
			}
			require.Len(t, errs, 1)
			return errs[0]
		}
		var stopped *cache.ErrCacheNotStarted
		require.ErrorAs(t, only(w.Cache), &stopped)
		w.begin()
		defer w.end()
		require.ErrorContains(t, only(w.Cache, client.InNamespace("shop")), `namespace "shop"`)
		require.ErrorContains(t, only(w.Cache, client.Continue("x")), "leave Continue out")
		require.ErrorContains(t, only(struct{ client.Reader }{w.Cache}), "isn't a cache from New")
		for _, err := range cache.All(t.Context(), w.Cache, &myMetadata{PartialObjectMetadata: *metadataOf(configMapKind)}) {
			require.Error(t, err)
		}
		for _, err := range cache.All(t.Context(), w.Cache, &unstructured.Unstructured{}) {
			require.Error(t, err)
		}
		n := 0
		wrapped := &myUnstructured{*freeOf(configMapKind)} // the cache has what is inside it
		for object, err := range cache.All(t.Context(), w.Cache, wrapped) {
			n++
			require.Nil(t, object)
			require.ErrorContains(t, err, "a *unstructured.Unstructured and not a *cache_test.my")
		}
		require.Equal(t, 1, n)
	})
}

// myMetadata is a Go type that no scheme knows.
type myMetadata struct{ metav1.PartialObjectMetadata }

type myUnstructured struct{ unstructured.Unstructured }

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
