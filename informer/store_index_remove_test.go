package informer

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Whoever adds an index for a while would otherwise pay for it as long as the store lives.
func TestAnIndexThatIsRemovedIsNotKeptUpAndTheOthersAre(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	calls := map[string]int{}
	add := func(name string) {
		t.Helper()
		_, err := store.AddIndex(name, func(values []string, pod *corev1.Pod) []string {
			calls[name]++
			return append(values, name+" "+pod.Name)
		})
		require.NoError(t, err)
	}
	put := func(name string) {
		clear(calls)
		store.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
	}
	put("a")
	for _, name := range []string{"first", "second", "third", "fourth"} {
		add(name)
	}
	second, _ := store.Index("second")
	store.RemoveIndices("first", "nobody's")
	put("b")
	require.Equal(t, map[string]int{"second": 1, "third": 1, "fourth": 1}, calls)
	_, there := store.Index("first")
	require.False(t, there)
	require.Equal(t, []string{"second a", "second b"}, second.Values(), "an index that was looked up before finds what it did")
	require.Equal(t, 1, second.Count("second b"))

	store.Reader().RemoveIndices("third")
	require.Len(t, store.indexFuncs, 4)
	store.RemoveIndices("fourth")
	require.Len(t, store.indexFuncs, 2, "there is no place left for those at the end")
	for n := range 10 {
		add(fmt.Sprint("passing ", n))
		store.RemoveIndices(fmt.Sprint("passing ", n))
	}
	require.Len(t, store.indexFuncs, 2)
	add("first")
	put("c")
	require.Equal(t, map[string]int{"first": 1, "second": 1}, calls)
	first, there := store.Index("first")
	require.True(t, there)
	require.Equal(t, []string{"first a", "first b", "first c"}, first.Values())
	store.Replace([]*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d"}}})
	require.Equal(t, []string{"second d"}, second.Values())
	store.Delete(Key{Namespace: "default", Name: "d"})
	require.Empty(t, second.Values())
}

// What an index holds goes with it, and not only when its objects change.
func TestAnIndexThatIsRemovedHoldsNothing(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	for _, name := range []string{"first", "second"} {
		_, err := store.AddIndex(name, IndexNamespace[*corev1.Pod])
		require.NoError(t, err)
	}
	store.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	store.RemoveIndices("first")
	require.Empty(t, slices.Collect(store.now.indices[0].lists.keys()))
	store.RemoveIndices("second")
	require.Empty(t, store.indexFuncs, "no place is left when the last one is removed")
	store.RemoveIndices("second")
	store.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}})
	require.Equal(t, 2, store.Len())

	alone := NewStore[*corev1.Pod](StoreOptions{})
	_, err := alone.AddIndex("alone", IndexNamespace[*corev1.Pod])
	require.NoError(t, err)
	alone.RemoveIndices("alone")
	require.Empty(t, alone.indexFuncs)
}
