package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/trace"
)

// everyEvent is a consumer that has these pods, and its queue, which hands over every event.
func everyEvent(options DeltaQueueOptions, pods ...*corev1.Pod) (*DeltaQueue[*corev1.Pod], *Store[*corev1.Pod]) {
	copy := NewStore[*corev1.Pod](StoreOptions{})
	for _, pod := range pods {
		copy.Put(pod)
	}
	options.EveryEvent = true
	return NewDeltaQueue(copy, options), copy
}

// handedOver empties a queue as its consumer does, and writes down each delta.
func handedOver(queue *DeltaQueue[*corev1.Pod], copy *Store[*corev1.Pod]) (lines []string) {
	var batch Batch[*corev1.Pod]
	for queue.Pop(&batch) {
		for _, delta := range batch.Deltas {
			line := fmt.Sprintf("%s %s %s%s", delta.Type, delta.Key.Name, delta.Object.UID, delta.Object.ResourceVersion)
			if delta.Type == DeltaUpdated {
				line += " after " + delta.Old.ResourceVersion
			}
			if delta.FinalStateUnknown {
				line += ", unseen"
			}
			lines = append(lines, line)
			if delta.Type == DeltaDeleted {
				copy.Delete(delta.Key)
			} else {
				copy.Put(delta.Object)
			}
		}
	}
	return lines
}

func podNamed(name, uid, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

// A controller that made a Pod for one owner, and is told only of the owner who has it now, never
// calls the first one.
func TestEveryEventOfAWatchIsHandedOverInItsOrder(t *testing.T) {
	for _, batchSize := range []int{1, 2, 3, 256} {
		queue, copy := everyEvent(DeltaQueueOptions{BatchSize: batchSize}, podNamed("old", "o", "1"))
		queue.Apply(event(watch.Added, podNamed("web", "a", "2")))
		queue.Apply(event(watch.Modified, podNamed("old", "o", "3")))
		queue.Apply(event(watch.Modified, podNamed("web", "a", "4")))
		queue.Apply(event(watch.Deleted, podNamed("web", "a", "5")))
		queue.Apply(event(watch.Modified, podNamed("old", "o", "6")))
		queue.Apply(event(watch.Added, podNamed("web", "b", "7")))
		queue.Apply(event(watch.Deleted, podNamed("web", "b", "8")))
		require.Equal(t, []string{
			"Added web a2", "Updated old o3 after 1", "Updated web a4 after 2", "Deleted web a5",
			"Updated old o6 after 3", "Added web b7", "Deleted web b8",
		}, handedOver(queue, copy), "in batches of %d", batchSize)
	}
}

// An event that is no news must not become a call of a handler, and one that skips an end must not
// make one object look like another: whoever freed something for the first would not free it.
func TestEachDeltaOfEveryEventIsLegalAfterTheOnesBeforeIt(t *testing.T) {
	for _, batchSize := range []int{1, 256} {
		queue, copy := everyEvent(DeltaQueueOptions{BatchSize: batchSize})
		queue.Apply(event(watch.Deleted, podNamed("web", "a", "1"))) // nobody knows it
		queue.Apply(event(watch.Modified, podNamed("web", "a", "2")))
		queue.Apply(event(watch.Added, podNamed("web", "a", "2"))) // said twice
		queue.Apply(event(watch.Modified, podNamed("web", "b", "3")))
		queue.Apply(event(watch.Deleted, podNamed("web", "b", "4")))
		queue.Apply(event(watch.Deleted, podNamed("web", "b", "4")))
		require.Equal(t, []string{"Added web a2", "Deleted web a2, unseen", "Added web b3", "Deleted web b4"},
			handedOver(queue, copy), "in batches of %d", batchSize)
	}
}

// A relist while the consumer is busy neither hides what the watch has said before, nor repeats it.
func TestAListIsComparedWithWhatTheEventsBeforeItLeadTo(t *testing.T) {
	for _, batchSize := range []int{1, 256} {
		queue, copy := everyEvent(DeltaQueueOptions{BatchSize: batchSize}, podNamed("lost", "l", "1"))
		queue.Apply(event(watch.Added, podNamed("same", "s", "2")))
		queue.Apply(event(watch.Added, podNamed("changed", "c", "3")))
		queue.Apply(event(watch.Added, podNamed("gone", "g", "4")))
		queue.Apply(event(watch.Added, podNamed("other", "o", "5")))
		queue.Replace([]*corev1.Pod{podNamed("changed", "c", "6"), podNamed("other", "p", "7"), podNamed("same", "s", "2")}, "8")
		queue.Apply(event(watch.Modified, podNamed("same", "s", "9")))
		require.Equal(t, []string{
			"Added same s2", "Added changed c3", "Added gone g4", "Added other o5",
			"Updated changed c6 after 3", "Deleted other o5, unseen", "Added other p7", "Deleted gone g4, unseen",
			"Updated same s9 after 2", "Deleted lost l1, unseen",
		}, handedOver(queue, copy), "in batches of %d", batchSize)
	}
}

// A server that is asked for a list again and again must not fill the queue with them.
func TestListsTakeOneEntryForEachKeyBehindTheEvents(t *testing.T) {
	queue, copy := everyEvent(DeltaQueueOptions{}, podNamed("web", "a", "1"))
	queue.Apply(event(watch.Modified, podNamed("web", "a", "2")))
	for range 5 {
		queue.Replace([]*corev1.Pod{podNamed("web", "a", "3")}, "3")
		queue.Replace(nil, "4")
		queue.Replace([]*corev1.Pod{podNamed("web", "a", "5"), podNamed("new", "n", "5")}, "5")
	}
	require.Equal(t, 3, queue.Len(), "an event of one key, and lists with two")
	require.Equal(t, []string{"Updated web a2 after 1", "Updated web a3 after 2", "Deleted web a3, unseen", "Added web a5", "Added new n5"},
		handedOver(queue, copy))
}

// A program that waits for a version would read a cache that has not reached it.
func TestABatchSaysHowFarItLeadsOnlyIfNoEventIsLeft(t *testing.T) {
	queue, copy := everyEvent(DeltaQueueOptions{BatchSize: 1})
	queue.Replace([]*corev1.Pod{podAt("a", "1")}, "1")
	queue.Apply(modified(podAt("a", "2")))
	first := next(t, queue)
	require.True(t, first.Synced, "the first list is complete; the event came after it")
	require.True(t, first.Deltas[0].Initial)
	require.Empty(t, first.ResourceVersion, "an event is left")
	copy.Put(first.Deltas[0].Object)
	second := next(t, queue)
	require.Equal(t, "2", second.ResourceVersion)
	require.False(t, second.Deltas[0].Initial, "the state that the event brought was not in the first list")
}

// A handler that asked for all objects once more gets each of them, and none before its newest state.
func TestAResyncComesBehindTheEvents(t *testing.T) {
	queue, copy := everyEvent(DeltaQueueOptions{BatchSize: 1}, podNamed("quiet", "q", "1"), podNamed("web", "a", "2"))
	queue.Apply(event(watch.Modified, podNamed("web", "a", "3")))
	queue.Apply(event(watch.Modified, podNamed("web", "a", "4")))
	queue.Resync()
	var batch Batch[*corev1.Pod]
	var resynced []bool
	for queue.Pop(&batch) {
		resynced = append(resynced, batch.Resynced)
		copy.Put(batch.Deltas[0].Object)
	}
	require.Equal(t, []bool{false, false, true}, resynced, "two changes of one pod, and the other pod")
}

// Who reads the flight recorder to find out why a handler is late must see how many events of a key wait.
func TestTheRecorderCountsTheEventsOfAKeyThatWait(t *testing.T) {
	recorder := trace.New(16)
	queue, copy := everyEvent(DeltaQueueOptions{BatchSize: 1, Recorder: recorder})
	for _, version := range []string{"1", "2", "3"} {
		queue.Apply(modified(podAt("a", version)))
	}
	copy.Put(next(t, queue).Deltas[0].Object)
	queue.Apply(modified(podAt("a", "4")))
	queue.Replace(nil, "5")
	require.Len(t, handedOver(queue, copy), 4)
	queue.Apply(modified(podAt("a", "6")))
	var counts []int
	for _, recorded := range recorder.Events() {
		if recorded.Op == string(watch.Modified) {
			counts = append(counts, recorded.Count)
		}
	}
	require.Equal(t, []int{1, 2, 3, 3, 1}, counts)
}

// Whatever happens, no event is lost, and the consumer ends with what the server has, by legal steps.
func TestEveryEventLeadsToWhatTheServerHas(t *testing.T) {
	tellings, tombstones, most := 0, 0, 0
	for seed := range uint64(400) {
		program := make([]byte, 200)
		random := rand.New(rand.NewPCG(seed, 4))
		for i := range program {
			program[i] = byte(random.Uint32())
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := playDeltas(t, program, true)
			tellings, tombstones, most = tellings+w.tellings, tombstones+w.tombstones, max(most, w.most)
		}) {
			return
		}
	}
	require.Greater(t, tellings, 8000, "there were hardly any events, so little was tried")
	require.Greater(t, tombstones, 300, "hardly any deletion was unseen, so little was tried")
	require.Greater(t, most, 12, "the queue never held more than one entry for each of 12 keys, so little was tried")
}

// countingKnown is what a consumer has, and counts how often somebody looks.
type countingKnown struct {
	*Store[*corev1.Pod]
	looks int
}

func (c *countingKnown) Get(key Key) (*corev1.Pod, bool) {
	c.looks++
	return c.Store.Get(key)
}

// The reflector must not wait, and what it would look up is of no use if nothing is forgotten.
func TestAnEventIsQueuedWithoutALookAtWhatTheConsumerHas(t *testing.T) {
	known := &countingKnown{Store: NewStore[*corev1.Pod](StoreOptions{})}
	queue := NewDeltaQueue(known, DeltaQueueOptions{EveryEvent: true})
	queue.Apply(event(watch.Added, podAt("a", "1")))
	queue.Apply(event(watch.Deleted, podAt("a", "2")))
	require.Zero(t, known.looks)
	require.Equal(t, []string{"Added web a1", "Deleted web a2"}, handedOver(queue, known.Store))
}

// A consumer that is far behind must not search each batch for an entry that has left before.
func TestAnEntryIsBehindAnotherOneOnlyIfTheyLeaveTogether(t *testing.T) {
	buffer := deltaBuffer[*corev1.Pod]{everyEvent: true}
	for version := range 4 {
		buffer.put(podAt("a", fmt.Sprint(version)), false)
		buffer.put(podNamed("db", "b", fmt.Sprint(version)), false)
	}
	var behind []bool
	for _, most := range []int{1, 2, 4, 9} {
		for _, taken := range buffer.take(nil, most) {
			behind = append(behind, taken.behind)
		}
	}
	require.Equal(t, []bool{false, false, false, false, false, true, true, false}, behind, "in batches of 1, 2, 4 and 1")
}
