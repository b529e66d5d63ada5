package informer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// countedPod counts how often somebody asks for its name: the table does so for each entry that it moves.
type countedPod struct {
	*corev1.Pod
	asked *int
}

func (p countedPod) GetName() string { *p.asked++; return p.Name }

// After a peak, a table is as large as what is left in it, in every part. The way there takes small steps:
// none of them may hold a write up.
func TestATableIsAsLargeAsWhatIsInIt(t *testing.T) {
	asked := 0
	pods := make([]countedPod, 1000)
	table := newObjectTable[countedPod](0, 1)
	key := func(i int) Key { return keyIn("shop", fmt.Sprint("pod-", i)) }
	value := func(i int) [][]string { return [][]string{{fmt.Sprint("node-", i)}} }
	put := func(i int) {
		pods[i] = countedPod{podOn(fmt.Sprint("pod-", i), ""), &asked}
		asked = 0
		table.put(key(i), pods[i], value(i), 0)
		require.LessOrEqual(t, asked, slotsPerStep, "one write moves too many entries")
	}
	for i := range pods {
		put(i)
		require.Nil(t, table.slots.leaving, "nothing is to be given back while a table grows")
		require.Len(t, table.chunks, chunksFor(i+1))
	}
	remove := func(i int) {
		asked = 0
		_, existed := table.delete(key(i), 0)
		require.True(t, existed)
		require.LessOrEqual(t, asked, slotsPerStep+3, "one write moves too many entries")
		require.Len(t, table.chunks, min(len(pods)/chunkSize+1, chunksFor(table.len())+1), "with %d objects; one chunk is kept for the next", table.len())
		for _, c := range table.chunks[len(table.chunks):cap(table.chunks)] {
			require.Nil(t, c, "a chunk that is not used any more is kept in memory")
		}
	}
	for i := range 500 {
		remove(i)
	}
	require.Nil(t, table.slots.leaving, "half of them is too many to move")
	for i := 500; i < 990; i++ {
		remove(i)
	}
	require.Nil(t, table.slots.leaving, "deletions alone end the move")
	require.Less(t, table.slots.peak, shrinkFrom, "the map of slots was made for more")
	require.Less(t, table.indices[0].lists.peak, shrinkFrom, "the map of an index was made for more")
	require.LessOrEqual(t, len(table.indices[0].chunks), 2, "the chunks of an index were made for more")
	for i := 990; i < 1000; i++ {
		at, ok := table.slots.get(key(i))
		require.True(t, ok)
		require.Equal(t, []int{int(at)}, table.indices[0].found(value(i)[0][0]))
	}
}

// A cluster that has become quiet has no more deletions, only updates. They, too, must end a move that has begun:
// until then both maps are in memory.
func TestUpdatesEndAMoveThatDeletionsBegan(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	for i := range 1024 {
		store.Put(smallPod(i))
	}
	for i := 0; store.now.slots.leaving == nil; i++ {
		store.Delete(KeyOf(smallPod(i)))
	}
	for range 100 {
		store.Put(smallPod(1023))
	}
	require.Nil(t, store.now.slots.leaving)
	require.Equal(t, store.Len(), len(store.now.slots.entries))
}

func TestAWalkVisitsEachObjectOnce(t *testing.T) {
	for _, n := range []int{0, 1, 10, chunkSize - 1, chunkSize, chunkSize + 1, 2*chunkSize + 1} {
		require.Equal(t, (n+63)/64, chunksFor(n))
		store := NewStore[*corev1.Pod](StoreOptions{})
		for i := range n + 2*chunkSize {
			store.Put(smallPod(i))
		}
		for i := range 2 * chunkSize { // leaves a chunk that is empty
			store.Delete(KeyOf(smallPod(n + i)))
		}
		seen := map[string]bool{}
		for pod := range store.All() {
			require.False(t, seen[pod.Name], "%s twice", pod.Name)
			seen[pod.Name] = true
		}
		require.Len(t, seen, n)
	}
}

// A slice that swings between two sizes must not be copied each time, and one that was large must not stay so.
func TestASliceShrinksWhenMostOfItIsNotUsed(t *testing.T) {
	for _, c := range []struct{ length, capacity, want int }{
		{1, 64, 64}, // little to give back
		{1, 65, 2}, {16, 65, 32}, {17, 65, 65}, {250, 1000, 500}, {251, 1000, 1000},
	} {
		s := shrunk(make([]int, c.length, c.capacity))
		require.Len(t, s, c.length)
		require.Equal(t, c.want, cap(s), "%d of %d are used", c.length, c.capacity)
	}
}

func TestWhatIsNotThereCannotBeDeleted(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	for range 2 { // of an empty store, and of another
		old, existed := store.Delete(keyIn("shop", "nobody"))
		require.Nil(t, old)
		require.False(t, existed)
		store.Put(podOn("a", "node-1"))
	}
	require.Equal(t, 1, store.Len())
}

// Somebody gives a cached object the name of another one. The store must not take it for that one.
func TestAnObjectThatWasRenamedToAnotherOneIsReported(t *testing.T) {
	pods := []*corev1.Pod{podOn("a", "node-1"), podOn("b", "node-1"), podOn("c", "node-1")}
	store, _ := newPodStore(t, pods...)
	pods[2].Name = "b"
	require.PanicsWithValue(t, "informer: shop/b in the store is not stored under its name: somebody has renamed a cached object",
		func() { store.Delete(keyIn("shop", "a")) })
}

// An index may come when the store is full, and a loop over it may be the first that the store ever sees.
func TestALoopOverAnIndexThatCameLateShowsOneMoment(t *testing.T) {
	store := NewStore[*corev1.Pod](StoreOptions{})
	for i := range 10 {
		store.Put(podOn(fmt.Sprint("pod-", i), "node-1"))
	}
	byNode, err := store.AddIndex("node", nodeOf)
	require.NoError(t, err)
	var seen []string
	for pod := range byNode.Lookup("node-1") {
		if len(seen) == 0 {
			for i := range 5 {
				store.Delete(keyIn("shop", fmt.Sprint("pod-", i)))
			}
		}
		seen = append(seen, pod.Name)
	}
	require.Equal(t, "[pod-0 pod-1 pod-2 pod-3 pod-4 pod-5 pod-6 pod-7 pod-8 pod-9]", fmt.Sprint(seen))
}
