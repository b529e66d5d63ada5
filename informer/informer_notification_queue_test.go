package informer

import (
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

// A handler that never comes back must not take the process with it.
func TestABacklogIsAsLongAsThereAreObjects(t *testing.T) {
	var b notificationQueue[*corev1.Pod]
	was := a1
	for range 1000 {
		b.add(slotChange{at: 7}, updated(was, a2))
		b.add(slotChange{at: 8}, added(b4))
		b.add(slotChange{at: 8}, deleted(b4, b5))
		was = a2
	}
	require.Equal(t, 1, b.len(), "one object has changed, the others came and went")
	require.Equal(t, heard{"update a1 a2"}, toldAll(&b))
	require.Nil(t, b.front)
}

// The store gives the slot of a deleted object to the next one. A handler that is
// told one object's end under the name of another cleans up the wrong one.
func TestASlotThatGoesToAnotherObjectDoesNotMixThemUp(t *testing.T) {
	other := podOn("other", "")
	other.UID, other.ResourceVersion = "c", "6"
	var b notificationQueue[*corev1.Pod]
	b.add(slotChange{at: 7}, deleted(a1, a2))
	b.add(slotChange{at: 7}, Delta[*corev1.Pod]{Type: DeltaAdded, Key: KeyOf(other), Object: other})
	require.Equal(t, 2, b.len(), "one object is gone, and another is there")
	b.add(slotChange{at: 7}, Delta[*corev1.Pod]{Type: DeltaUpdated, Key: KeyOf(other), Old: other, Object: other})
	require.Equal(t, heard{"delete a2 false", "add c6 false"}, toldAll(&b))
	b.add(slotChange{at: 7}, Delta[*corev1.Pod]{Type: DeltaUpdated, Key: KeyOf(other), Old: other, Object: other})
	require.Equal(t, heard{"update c6 c6"}, toldAll(&b), "the slot's place was given back")
}

func TestAnotherObjectOfTheSameNameSharesThePlace(t *testing.T) {
	key := KeyOf(a1)
	var b notificationQueue[*corev1.Pod]
	b.add(slotChange{at: 7}, Delta[*corev1.Pod]{Type: DeltaDeleted, Key: key, Old: a1, Object: a2})
	b.add(slotChange{at: 7}, Delta[*corev1.Pod]{Type: DeltaAdded, Key: key, Object: b4})
	require.Equal(t, 1, b.len())
	require.Equal(t, heard{"delete a2 false", "add b4 false"}, toldAll(&b))
}

// HasSynced waits for this count to be zero: if it is too high, it waits forever,
// and if it is too low, a controller begins before it knows what there is.
func TestTheInitialObjectsAreCountedUntilTheyAreTakenOrGone(t *testing.T) {
	var b notificationQueue[*corev1.Pod]
	for at := range slot(3) {
		b.add(slotChange{at: at}, Delta[*corev1.Pod]{Type: DeltaAdded, Key: KeyOf(a1), Object: a1, Initial: true})
	}
	require.Equal(t, 3, b.initial)
	b.add(slotChange{at: 1}, updated(a1, a2))
	require.Equal(t, 3, b.initial, "a change leaves it initial")
	b.add(slotChange{at: 2}, deleted(a1, a2))
	require.Equal(t, 2, b.initial, "it went before the handler heard of it")
	require.Len(t, b.take(nil, 1), 1)
	require.Equal(t, 1, b.initial)
	require.Len(t, b.take(nil, 5), 1)
	require.Zero(t, b.initial)
}

// A listener that has caught up must not keep the objects alive that it was told.
func TestAnEmptyBacklogHoldsNoObject(t *testing.T) {
	var b notificationQueue[*corev1.Pod]
	for at := range slot(20_000) {
		b.add(slotChange{at: at}, added(a1))
	}
	require.Len(t, b.take(nil, 20_000), 20_000)
	require.Equal(t, maxSpareNodes, b.spares)
	for spare := b.spare; spare != nil; spare = spare.next {
		require.Nil(t, spare.value.object)
	}
	for _, chunk := range b.chunks {
		require.Zero(t, *chunk)
	}
}

// An object moves to another slot in the store while its news waits. If the news does not
// move with it, the next news of the object is taken for that of somebody else.
func TestNewsFollowsAnObjectThatMovesToAnotherSlot(t *testing.T) {
	key := func(d Delta[*corev1.Pod]) Delta[*corev1.Pod] { d.Key = KeyOf(d.Object); return d }
	other, newer := podOn("other", ""), podOn("other", "")
	other.UID, other.ResourceVersion, newer.UID, newer.ResourceVersion = "o", "1", "o", "2"
	var b notificationQueue[*corev1.Pod]
	b.add(slotChange{at: 9}, key(added(other)))
	b.add(slotChange{at: 3, freed: 9, frees: true}, key(deleted(a1, a2))) // other moves from 9 to 3
	require.Equal(t, 2, b.len())
	b.add(slotChange{at: 3}, key(updated(other, newer)))
	require.Equal(t, 2, b.len(), "an update of an object whose addition still waits is no second entry")
	b.add(slotChange{at: 9}, key(added(b4)))
	require.Equal(t, heard{"add o2 false", "delete a2 false", "add b4 false"}, toldAll(&b))
	b.add(slotChange{at: 3, freed: 3, frees: true}, key(deleted(newer, newer)))
	require.Equal(t, heard{"delete o2 false"}, toldAll(&b))
	for _, chunk := range b.chunks {
		if chunk != nil {
			require.Zero(t, *chunk, "what was delivered is still held")
		}
	}
}

// Ten listeners must not keep the memory of a million objects after nine hundred and
// ninety thousand have gone.
func TestAListenersQueueShrinksWithTheStore(t *testing.T) {
	var b notificationQueue[*corev1.Pod]
	const peak = 50_000
	for at := range slot(peak) {
		b.add(slotChange{at: at}, updated(a1, a2))
	}
	toldAll := 0
	for b.len() > 0 {
		toldAll += len(b.take(nil, 64))
	}
	require.Equal(t, peak, toldAll)
	require.Equal(t, chunksFor(peak), len(b.chunks), "there was no peak")
	for last := slot(peak - 1); last >= 10; last-- {
		b.add(slotChange{at: 0, freed: last, frees: true}, deleted(a1, a2))
		b.take(nil, 1)
		if last%100 == 0 {
			for _, chunk := range b.chunks[len(b.chunks):cap(b.chunks)] {
				require.Nil(t, chunk, "with %d objects, chunks that are cut off are still held", last)
			}
		}
	}
	require.LessOrEqual(t, len(b.chunks), 2)
	require.LessOrEqual(t, cap(b.chunks), 4*chunkSize)
}

// A Deployment that scales up and down by one pod, at the wrong size, must not cost each listener
// a chunk each time.
func TestAListenersQueueDoesNotShrinkAndGrowInTurns(t *testing.T) {
	var b notificationQueue[*corev1.Pod]
	batch := make([]notification[*corev1.Pod], 0, 1)
	key := func(d Delta[*corev1.Pod]) Delta[*corev1.Pod] { d.Key = KeyOf(d.Object); return d }
	for _, last := range []slot{chunkSize - 1, chunkSize, chunkSize + 1} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			b.add(slotChange{at: last}, key(added(a1)))
			b.take(batch[:0], 1)
			b.add(slotChange{at: last, freed: last, frees: true}, key(deleted(a1, a2)))
			b.take(batch[:0], 1)
		}), "around %d objects", last)
	}
}

// A handler may hear of the last object in the store first.
func TestTheFirstNewsMayBeAboutAnySlot(t *testing.T) {
	var b notificationQueue[*corev1.Pod]
	b.add(slotChange{at: 3 * chunkSize}, added(a1))
	b.add(slotChange{at: 0}, added(b4))
	require.Equal(t, heard{"add a1 false", "add b4 false"}, toldAll(&b))
}
