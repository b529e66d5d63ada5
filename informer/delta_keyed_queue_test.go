package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A queue that a relist has filled is emptied step by step. What changes meanwhile must
// find its entry, or a key would be handed over twice, and the queue would hold more
// keys than there are.
func TestAKeyIsFoundUntilItsLastEntryIsTaken(t *testing.T) {
	var queue keyedQueue[int]
	keys := make([]Key, 2*maxSpareNodes)
	for i, pod := range smallPods(len(keys)) {
		keys[i] = KeyOf(pod)
		queue.push(keys[i])
	}
	for i, key := range keys {
		node := queue.find(key)
		require.NotNil(t, node, "%d of %d entries were taken, and the queue does not find the next one by its key", i, len(keys))
		queue.remove(node)
		require.Nil(t, queue.find(key), "the entry was taken")
	}
}

// A queue that is empty between two events is the usual case: it must not make a
// new map for each event. After a flood the map goes, because a Go map never shrinks.
func TestOnlyAFloodTakesTheMapWithIt(t *testing.T) {
	fillAndDrain := func(queue *keyedQueue[int], n int) {
		for _, pod := range smallPods(n) {
			queue.push(KeyOf(pod))
		}
		for queue.front != nil {
			queue.remove(queue.front)
		}
	}
	var queue keyedQueue[int]
	fillAndDrain(&queue, maxSpareNodes)
	require.NotNil(t, queue.nodes, "the map is made again for the next event")
	fillAndDrain(&queue, maxSpareNodes+1)
	require.Nil(t, queue.nodes, "the map stays as large as the flood was")
	fillAndDrain(&queue, maxSpareNodes)
	require.NotNil(t, queue.nodes, "the flood is over, and the map is still made again for each event")
}

// A type is shown in the flight recorder, and one that does not exist must not crash it.
func TestEachTypeOfADeltaHasAName(t *testing.T) {
	var names []string
	for kind := range DeltaSync + 2 {
		names = append(names, kind.String())
	}
	require.Equal(t, []string{"DeltaType(0)", "Added", "Updated", "Deleted", "Sync", "DeltaType(5)"}, names)
}
