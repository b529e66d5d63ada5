package informer

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// heapBytes is what is in use after everything that nobody needs has gone.
func heapBytes() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // what was put into a pool goes with the second
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A cluster has a bad day with a million pods, and a good year after it. The process
// must not pay for the day all year.
func TestAfterAPeakTheStoreTakesAsMuchMemoryAsWithoutIt(t *testing.T) {
	const peak, left = 60_000, 10
	store := NewStore[*corev1.Pod](StoreOptions{})
	require.NoError(t, store.AddIndices(map[string]IndexFunc[*corev1.Pod]{
		NamespaceIndex: IndexNamespace[*corev1.Pod],
		"name":         func(values []string, pod *corev1.Pod) []string { return append(values, pod.Name) },
		"several": func(values []string, pod *corev1.Pod) []string {
			return append(values, pod.Spec.NodeName, pod.Namespace)
		},
	}))
	pods := smallPods(peak) // stay in memory, because the store is measured and not what is in it
	before := heapBytes()
	for _, pod := range pods {
		store.Put(pod)
	}
	atPeak := heapBytes() - before
	require.Greater(t, atPeak, int64(200*peak), "there was no peak")
	for i := range peak {
		if i%(peak/left) != 0 { // those that stay are spread over all that there were
			store.Delete(KeyOf(pods[i]))
		}
	}
	require.Equal(t, left, store.Len())
	require.Less(t, heapBytes()-before, atPeak/100, "ten objects are left of %d, and what the store keeps for the others is not given back", peak)
	require.Len(t, slices.Collect(store.All()), left)
	runtime.KeepAlive(store)
	runtime.KeepAlive(pods)
}

// A walk through ten objects must not go through all the places in which there ever
// was one.
func TestAfterAPeakAWalkVisitsAsManyChunksAsThereAreObjects(t *testing.T) {
	for _, left := range []int{0, 1, 64, 65, 500} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			store := NewStore[*corev1.Pod](StoreOptions{})
			for i := range 50_000 {
				store.Put(smallPod(i))
			}
			for i := range 50_000 {
				if i >= left/2 && i < 50_000-(left-left/2) { // from both ends something stays
					store.Delete(KeyOf(smallPod(i)))
				}
			}
			require.Equal(t, left, store.Len())
			require.LessOrEqual(t, len(store.now.chunks), chunksFor(left)+1, "chunks to visit; one may be kept for the next object")
			require.LessOrEqual(t, cap(store.now.chunks), max(chunkSize, 4*len(store.now.chunks)), "the slice of chunks is as large as at the peak")
		})
	}
}

// What is given back is given back in small steps: no write moves more than a few
// entries, however many there are, and no entry is lost on the way.
func TestNoWriteMovesMoreThanAFewEntriesOfALargeMap(t *testing.T) {
	const peak = 40_000
	m := newShrinkingMap[string, int](0)
	keys := make([]string, peak) // the key that each slot has
	for i := range keys {
		keys[i] = fmt.Sprint("key-", i)
		m.set(keys[i], i)
	}
	ended := 0
	for len(keys) > 10 {
		// As a store does it: the last one moves into the gap. At the front, so that it
		// gets to where the walk has been already.
		last := len(keys) - 1
		m.delete(keys[0])
		keys[0] = keys[last]
		keys = keys[:last]
		m.set(keys[0], -1)
		moving := m.leaving != nil
		if !m.due() {
			continue
		}
		from, to := m.step(len(keys))
		require.LessOrEqual(t, to-from, slotsPerStep)
		for _, key := range keys[from:to] {
			m.carry(key)
		}
		require.Equal(t, len(keys), m.len(), "an entry is lost, or there twice")
		if moving && m.leaving == nil {
			ended++
		}
	}
	require.Greater(t, ended, 2, "40,000, 10,000, 2,500: this often a smaller map must have taken the place of the larger one")
	for _, key := range keys {
		_, ok := m.get(key)
		require.True(t, ok, "%s is lost", key)
	}
	require.ElementsMatch(t, keys, slices.Collect(m.keys()))
	require.LessOrEqual(t, m.peak, shrinkFrom, "the map that is left was made for more")
}

// A reader that began at the peak still sees all of it, though the store shrinks and
// grows again meanwhile.
func TestALoopThatBeganAtThePeakSeesAllOfIt(t *testing.T) {
	const peak = 5_000
	pods := smallPods(peak)
	store, byNode := newPodStore(t, pods...)
	next := 0
	for pod := range store.All() {
		if next == 0 {
			for _, pod := range pods[5:] {
				store.Delete(KeyOf(pod))
			}
			for i := range peak {
				store.Put(smallPod(peak + i))
			}
		}
		require.Same(t, pods[next], pod)
		next++
	}
	require.Equal(t, peak, next)
	require.Equal(t, peak+5, store.Len())
	found := 0
	for range byNode.Lookup("node-7") {
		if found == 0 {
			for i := range peak {
				store.Delete(KeyOf(smallPod(peak + i)))
			}
		}
		found++
	}
	require.Equal(t, peak/200, found)
}

// An index whose values come and go, such as the addresses of pods, is as large as
// the values that there are, though the objects stay.
func TestAnIndexShrinksWithItsValues(t *testing.T) {
	const peak = 20_000
	index := newPostings()
	for s := range slot(peak) {
		index.set(s, []string{fmt.Sprint("address-", s), "all", fmt.Sprint("second-", s)}, 0)
	}
	for s := range slot(peak) {
		index.set(s, []string{"none"}, 0)
		index.shrink(peak)
	}
	for range peak {
		index.shrink(peak)
	}
	require.Equal(t, []string{"none"}, slices.Collect(index.lists.keys()))
	require.Less(t, index.lists.peak, shrinkFrom, "the map of the lists was made for more values")
	require.Less(t, index.others.peak, shrinkFrom, "the map of further values was made for more slots")
	require.Equal(t, peak, len(index.lookup("none")))
}

// A list of all objects that becomes a list of ten gives the memory of the others back.
func TestAListOfAValueShrinks(t *testing.T) {
	index := newPostings()
	for s := range slot(10_000) {
		index.set(s, []string{"shop"}, 0)
	}
	for s := range slot(9_990) {
		index.set(s, nil, 0)
	}
	require.LessOrEqual(t, cap(index.lookup("shop")), 128)
}

// Somebody renames a cached object, against all rules. The store cannot find it any
// more; it must not show another one under its name.
func TestARenamedObjectIsReportedWhenTheStoreMeetsIt(t *testing.T) {
	pods := []*corev1.Pod{podOn("a", "node-1"), podOn("b", "node-1")}
	store, _ := newPodStore(t, pods...)
	pods[1].Name = "c"
	require.PanicsWithValue(t, "informer: shop/c in the store is not stored under its name: somebody has renamed a cached object",
		func() { store.Delete(KeyOf(pods[0])) })
}
