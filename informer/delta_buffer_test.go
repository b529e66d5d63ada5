package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
	"github.com/loopwright/loopwright/trace"
)

// behind is a consumer that has these pods, and its queue.
func behind(batchSize int, pods ...*corev1.Pod) (*DeltaQueue[*corev1.Pod], *Store[*corev1.Pod]) {
	copy := NewStore[*corev1.Pod](StoreOptions{})
	for _, pod := range pods {
		copy.Put(pod)
	}
	return NewDeltaQueue(copy, DeltaQueueOptions{BatchSize: batchSize}), copy
}

// next takes a batch, which must be there.
func next(t *testing.T, queue *DeltaQueue[*corev1.Pod]) Batch[*corev1.Pod] {
	t.Helper()
	var batch Batch[*corev1.Pod]
	require.True(t, queue.Pop(&batch), "there is no news")
	return batch
}

func event(kind watch.EventType, pod *corev1.Pod) Event[*corev1.Pod] {
	return Event[*corev1.Pod]{Type: kind, Object: pod}
}

// A handler that is told that an object has gone cleans up after it, though it only
// changed: a change was pending when the list came.
func TestAListThatNamesAnObjectWithAPendingChangeDoesNotEndIt(t *testing.T) {
	queue, _ := behind(0, podAt("a", "1"))
	queue.Apply(modified(podAt("a", "2")))
	queue.Replace([]*corev1.Pod{podAt("a", "3")}, "3")
	batch := next(t, queue)
	require.Len(t, batch.Deltas, 1)
	require.Equal(t, DeltaUpdated, batch.Deltas[0].Type)
	require.Equal(t, "3", batch.Deltas[0].Object.ResourceVersion)
}

// An owner that is named in the last state of an object is who cleans up after it. That
// must be the newest state that anybody saw, and it must be called a guess.
func TestATombstoneHasTheLastStateThatAnybodySaw(t *testing.T) {
	for _, c := range []struct {
		name, want string
		saw        func(queue *DeltaQueue[*corev1.Pod])
	}{
		{"the consumer's", "1", func(*DeltaQueue[*corev1.Pod]) {}},
		{"that of an event", "2", func(queue *DeltaQueue[*corev1.Pod]) { queue.Apply(modified(podAt("a", "2"))) }},
		{"that of a list", "2", func(queue *DeltaQueue[*corev1.Pod]) { queue.Replace([]*corev1.Pod{podAt("a", "2")}, "2") }},
		{"that of an addition that was reported twice", "2", func(queue *DeltaQueue[*corev1.Pod]) {
			queue.Apply(modified(podOn("first", "")))
			queue.Apply(event(watch.Added, podAt("a", "2")))
			queue.Resync()
			next(t, queue) // the first; what the consumer has was looked up
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			queue, _ := behind(1, podAt("a", "1"))
			c.saw(queue)
			queue.Replace(nil, "3")
			batch := next(t, queue)
			gone := batch.Deltas[len(batch.Deltas)-1]
			require.Equal(t, DeltaDeleted, gone.Type)
			require.Equal(t, c.want != "1", len(batch.Deltas) == 2, "a change is told before the end, and only if there was one")
			require.Equal(t, c.want, gone.Object.ResourceVersion)
			require.True(t, gone.FinalStateUnknown, "nobody saw the deletion")
		})
	}
}

// A page that is asked for again may repeat what the page before it had. Who waits for
// the first list must not wait forever then.
func TestAFirstListThatNamesAnObjectTwiceIsComplete(t *testing.T) {
	queue, _ := behind(0)
	queue.Replace([]*corev1.Pod{podAt("a", "1"), podAt("a", "1")}, "1")
	batch := next(t, queue)
	require.Len(t, batch.Deltas, 1)
	require.True(t, batch.Synced)
}

// Objects that came while the consumer was busy, and are not in the list that follows, are
// forgotten, all of them.
func TestAListDropsAllThatCameAndWentUnseen(t *testing.T) {
	queue, _ := behind(0)
	for _, pod := range smallPods(5) {
		queue.Apply(event(watch.Added, pod))
	}
	require.Equal(t, 5, queue.Len())
	queue.Replace(nil, "9")
	require.Zero(t, queue.Len(), "pods that are gone wait for a consumer that never heard of them")
	require.Empty(t, next(t, queue).Deltas)
}

// Who waits for the deletion of an object waits for the version that follows. A bookmark
// brings it, and nothing else may come for an hour.
func TestProgressIsHandedOverWithoutAnyDelta(t *testing.T) {
	queue, _ := behind(0)
	queue.Replace(nil, "7")
	require.Equal(t, "7", next(t, queue).ResourceVersion)
	queue.Progress("9")
	batch := next(t, queue)
	require.Empty(t, batch.Deltas)
	require.Equal(t, "9", batch.ResourceVersion)
	require.False(t, queue.Pop(&batch), "and that is said once")
}

// The informer begins no resync before the last one is complete. If it is never told so, no
// handler gets a resync again; if it is told too early, handlers miss objects.
func TestTheEndOfAResyncIsReportedOnceAndWithTheLastObject(t *testing.T) {
	queue, _ := behind(2, smallPods(5)...)
	queue.Progress("7")
	require.False(t, next(t, queue).Resynced, "nobody asked for a resync")
	for _, version := range []string{"8", "9"} {
		queue.Resync()
		synced := 0
		for _, last := range []bool{false, false, true} {
			batch := next(t, queue)
			require.Equal(t, last, batch.Resynced, "after %d objects of 5", synced)
			for _, delta := range batch.Deltas {
				require.Equal(t, DeltaSync, delta.Type)
				synced++
			}
		}
		require.Equal(t, 5, synced)
		require.False(t, queue.Pop(&Batch[*corev1.Pod]{}))
		queue.Progress(version)
		require.False(t, next(t, queue).Resynced, "it was reported before")
	}
}

func TestAResyncOfNothingIsCompleteAtOnce(t *testing.T) {
	queue, _ := behind(0)
	queue.Resync()
	<-queue.Ready()
	require.True(t, next(t, queue).Resynced)
	require.False(t, queue.Pop(&Batch[*corev1.Pod]{}), "and that is said once")
}

// The flight recorder shows how many deltas wait for a key: none for what came and went, three
// where an object has changed, has gone, and another one has taken the name.
func TestTheRecorderShowsHowManyDeltasAKeyWillLeadTo(t *testing.T) {
	recorder := trace.New(16)
	copy := NewStore[*corev1.Pod](StoreOptions{})
	copy.Put(podAt("a", "1"))
	queue := NewDeltaQueue(copy, DeltaQueueOptions{Recorder: recorder, Kind: "Pod"})
	passing := podOn("passing", "")
	for _, step := range []struct {
		kind watch.EventType
		pod  *corev1.Pod
		want int
	}{
		{watch.Modified, podAt("a", "2"), 1},
		{watch.Deleted, podAt("a", "3"), 2},
		{watch.Added, podAt("b", "4"), 3},
		{watch.Deleted, podAt("b", "5"), 2},
		{watch.Added, passing, 1},
		{watch.Deleted, passing, 0},
	} {
		queue.Apply(event(step.kind, step.pod))
		events := recorder.Events()
		last := events[len(events)-1]
		require.Equal(t, step.want, last.Count, "after %s %s at %s", step.kind, step.pod.Name, step.pod.ResourceVersion)
	}
	require.Len(t, next(t, queue).Deltas, 2)
	require.Len(t, recorder.Events(), 6, "a deletion that was seen is no tombstone")
}

// An event without a version, and a resync, are no news about the collection's version. If
// they took it away, nobody would learn that the consumer has reached it.
func TestOnlyAVersionReplacesAVersion(t *testing.T) {
	queue, _ := behind(0)
	queue.Replace(nil, "7")
	queue.Resync()
	require.Equal(t, "7", next(t, queue).ResourceVersion)
	queue.Progress("8")
	queue.Apply(event(watch.Added, podAt("a", "")))
	require.Equal(t, "8", next(t, queue).ResourceVersion)
}

// A consumer that is woken when there is more to come, and not otherwise, sleeps when it is done.
func TestAConsumerIsWokenWhileThereIsMore(t *testing.T) {
	queue, _ := behind(2)
	queue.Replace(smallPods(3), "7")
	queue.Progress("8") // two changes are one reason to wake up
	for range 2 {
		<-queue.Ready()
		next(t, queue)
	}
	select {
	case <-queue.Ready():
		t.Fatal("it is woken, and there is nothing")
	default:
	}
}

func TestABatchHas256KeysUnlessTheUserSaysOtherwise(t *testing.T) {
	queue, _ := behind(0)
	queue.Replace(smallPods(300), "7")
	require.Len(t, next(t, queue).Deltas, 256)
	require.Len(t, next(t, queue).Deltas, 44)
}

// The queue remembers what the consumer may be about to apply: the last batch, until the consumer
// comes back. If it remembered more, pods of Jobs that came and went would fill it.
func TestWhatWasHandedOverLongAgoCanBeForgotten(t *testing.T) {
	for name, comesBack := range inorder.Map(map[string]func(*DeltaQueue[*corev1.Pod]){
		"for nothing":      func(queue *DeltaQueue[*corev1.Pod]) { queue.Pop(&Batch[*corev1.Pod]{}) },
		"for the next one": func(queue *DeltaQueue[*corev1.Pod]) { queue.Progress("2"); next(t, queue) },
	}) {
		queue, _ := behind(0)
		queue.Apply(event(watch.Added, podAt("a", "1")))
		next(t, queue)
		comesBack(queue) // and has applied what it was given; this consumer keeps nothing
		queue.Apply(event(watch.Added, podAt("b", "3")))
		queue.Apply(event(watch.Deleted, podAt("b", "4")))
		require.Zero(t, queue.Len(), "the consumer came back %s, and a pod has come and gone since", name)
	}
}

// A queue that is empty must not keep the objects alive that went through it.
func TestAQueueHoldsNothingOfWhatItHandedOver(t *testing.T) {
	queue, _ := behind(0)
	queue.Replace(smallPods(5), "7")
	next(t, queue)
	require.Equal(t, 5, len(queue.scratch))
	for _, entry := range queue.scratch {
		require.Nil(t, entry.now)
	}
}
