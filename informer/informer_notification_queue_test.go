package informer

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// toldAll is what the handler hears when the whole backlog is delivered.
func toldAll(b *notificationQueue[*corev1.Pod]) heard {
	var h heard
	for _, untold := range b.take(nil, 1000) {
		untold.deliver(h.handler())
	}
	return h
}

func coalescing() *notificationQueue[*corev1.Pod] {
	return &notificationQueue[*corev1.Pod]{coalesces: true}
}

// named is the delta, of an object of that name.
func named(name string, delta Delta[*corev1.Pod]) Delta[*corev1.Pod] {
	delta.Key = keyIn("shop", name)
	return delta
}

// Somebody may have read each of these states in the store, and acted on it.
func TestABacklogKeepsEachStateInOrder(t *testing.T) {
	var b notificationQueue[*corev1.Pod]
	for _, delta := range []Delta[*corev1.Pod]{
		named("a", updated(a1, a2)), named("b", added(b4)), named("a", updated(a2, a3)), named("b", deleted(b4, b5)), named("a", updated(a3, a1)),
	} {
		b.add(delta)
	}
	require.Equal(t, 5, b.len())
	require.Equal(t, heard{"update a1 a2", "add b4 false", "update a2 a3", "delete b5 false", "update a3 a1"}, toldAll(&b))
}

// A handler that never comes back must not take the process with it, if it asks for Coalesce.
func TestABacklogThatCoalescesIsAsLongAsThereAreKeys(t *testing.T) {
	b := coalescing()
	was := a1
	for range 1000 {
		b.add(named("changes", updated(was, a2)))
		b.add(named("comes and goes", added(b4)))
		b.add(named("comes and goes", deleted(b4, b5)))
		was = a2
	}
	require.Equal(t, 2, b.len())
	require.Equal(t, heard{"update a1 a2", "add b5 false", "delete b5 false"}, toldAll(b))
	require.Nil(t, b.front)
	b.add(named("changes", updated(a2, a3)))
	require.Equal(t, heard{"update a2 a3"}, toldAll(b), "what was told is told again")
}

// HasSynced waits for this count to be zero: if it is too high, it waits forever,
// and if it is too low, a controller begins before it knows what there is.
func TestTheInitialObjectsAreCountedUntilTheyAreTaken(t *testing.T) {
	first := Delta[*corev1.Pod]{Type: DeltaAdded, Object: a1, Initial: true}
	for _, b := range []*notificationQueue[*corev1.Pod]{{}, coalescing()} {
		for n := range 3 {
			b.add(named(strconv.Itoa(n), first))
		}
		require.Equal(t, 3, b.initial)
		b.add(named("1", updated(a1, a2)))
		require.Equal(t, 3, b.initial, "a change leaves it initial")
		b.add(named("2", deleted(a1, a2)))
		require.Equal(t, 3, b.initial, "it is gone, and the handler has not heard of it yet")
		b.add(named("2", added(b4)))
		b.add(named("2", deleted(b4, b5)))
		require.Equal(t, 3, b.initial, "what came later was not there at the beginning")
		require.Len(t, b.take(nil, 2), 2)
		require.Equal(t, 1, b.initial)
		b.take(nil, 10)
		require.Zero(t, b.initial)
	}
	b := coalescing()
	b.add(named("1", first))
	b.add(named("1", deleted(a1, a2)))
	b.add(named("1", first))
	require.Equal(t, 2, b.initial, "two objects of the first list had the name, one after the other")
	b.take(nil, 1)
	require.Zero(t, b.initial)
}

// A listener that has caught up must not keep the objects alive that it was told.
func TestAnEmptyBacklogHoldsNoObject(t *testing.T) {
	for _, b := range []*notificationQueue[*corev1.Pod]{{}, coalescing()} {
		for n := range 20_000 {
			b.add(named(strconv.Itoa(n), added(a1)))
		}
		require.Len(t, b.take(nil, 20_000), 20_000)
		require.Equal(t, maxSpareNodes, b.spares)
		for spare := b.spare; spare != nil; spare = spare.next {
			require.Nil(t, spare.value.object)
		}
		require.Nil(t, b.nodes, "a map never shrinks")
	}
}

// Most handlers keep up. Then a change must cost a listener no allocation.
func TestABacklogUsesItsNodesAgain(t *testing.T) {
	for _, b := range []*notificationQueue[*corev1.Pod]{{}, coalescing()} {
		batch := make([]notification[*corev1.Pod], 0, 1)
		change := named("a", updated(a1, a2))
		require.Zero(t, testing.AllocsPerRun(100, func() {
			b.add(change)
			batch = b.take(batch[:0], 1)
		}))
	}
}
