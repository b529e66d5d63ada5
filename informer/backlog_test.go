package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// toldAll is what the handler is told of all that is in the backlog.
func toldAll(b *backlog[*corev1.Pod]) heard {
	var h heard
	for _, untold := range b.take(nil, 1000) {
		untold.tell(h.handler())
	}
	return h
}

// A handler that never comes back must not take the process with it.
func TestABacklogIsAsLongAsThereAreObjects(t *testing.T) {
	var b backlog[*corev1.Pod]
	was := a1
	for range 1000 {
		b.note(7, updated(was, a2))
		b.note(8, added(b4))
		b.note(8, deleted(b4, b5))
		was = a2
	}
	require.Equal(t, 1, b.len(), "one object has changed, the others came and went")
	require.Equal(t, heard{"update a1 a2"}, toldAll(&b))
	require.Nil(t, b.front)
}

// The store gives the slot of a deleted object to the next one. A handler that is
// told of one object's end under the name of another cleans up the wrong one.
func TestASlotThatGoesToAnotherObjectDoesNotMixThemUp(t *testing.T) {
	other := podOn("other", "")
	other.UID, other.ResourceVersion = "c", "6"
	var b backlog[*corev1.Pod]
	b.note(7, deleted(a1, a2))
	b.note(7, Delta[*corev1.Pod]{Type: DeltaAdded, Key: KeyOf(other), Object: other})
	require.Equal(t, 2, b.len(), "one object is gone, and another is there")
	b.note(7, Delta[*corev1.Pod]{Type: DeltaUpdated, Key: KeyOf(other), Old: other, Object: other})
	require.Equal(t, heard{"delete a2 false", "add c6 false"}, toldAll(&b))
	b.note(7, Delta[*corev1.Pod]{Type: DeltaUpdated, Key: KeyOf(other), Old: other, Object: other})
	require.Equal(t, heard{"update c6 c6"}, toldAll(&b), "the slot's place was given back")
}

func TestAnotherObjectOfTheSameNameSharesThePlace(t *testing.T) {
	key := KeyOf(a1)
	var b backlog[*corev1.Pod]
	b.note(7, Delta[*corev1.Pod]{Type: DeltaDeleted, Key: key, Old: a1, Object: a2})
	b.note(7, Delta[*corev1.Pod]{Type: DeltaAdded, Key: key, Object: b4})
	require.Equal(t, 1, b.len())
	require.Equal(t, heard{"delete a2 false", "add b4 false"}, toldAll(&b))
}

// HasSynced waits for this count to be zero: if it is too high, it waits for ever,
// and if it is too low, a controller begins before it knows what there is.
func TestTheInitialObjectsAreCountedUntilTheyAreTakenOrGone(t *testing.T) {
	var b backlog[*corev1.Pod]
	for at := range slot(3) {
		b.note(at, Delta[*corev1.Pod]{Type: DeltaAdded, Key: KeyOf(a1), Object: a1, Initial: true})
	}
	require.Equal(t, 3, b.initial)
	b.note(1, updated(a1, a2))
	require.Equal(t, 3, b.initial, "a change leaves it initial")
	b.note(2, deleted(a1, a2))
	require.Equal(t, 2, b.initial, "it went before the handler heard of it")
	require.Len(t, b.take(nil, 1), 1)
	require.Equal(t, 1, b.initial)
	require.Len(t, b.take(nil, 5), 1)
	require.Zero(t, b.initial)
}

// A listener that has caught up must not keep what it was told of alive.
func TestAnEmptyBacklogHoldsNoObject(t *testing.T) {
	var b backlog[*corev1.Pod]
	for at := range slot(20_000) {
		b.note(at, added(a1))
	}
	require.Len(t, b.take(nil, 20_000), 20_000)
	require.Equal(t, keepPlaces, b.spares)
	for spare := b.spare; spare != nil; spare = spare.after {
		require.Nil(t, spare.value.object)
	}
	for _, page := range b.pages {
		require.Zero(t, *page)
	}
}
