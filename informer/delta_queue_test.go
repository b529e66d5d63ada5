package informer

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
	"github.com/loopwright/loopwright/trace"
)

func modified(pod *corev1.Pod) Event[*corev1.Pod] {
	return Event[*corev1.Pod]{Type: watch.Modified, Object: pod, ResourceVersion: pod.ResourceVersion}
}

// An empty namespace is synced as soon as its empty list is here. A controller that
// waits for the first delta waits forever.
func TestAnEmptyFirstListIsSynced(t *testing.T) {
	queue := NewDeltaQueue(NewStore[*corev1.Pod](StoreOptions{}), DeltaQueueOptions{})
	var batch Batch[*corev1.Pod]
	require.False(t, queue.Pop(&batch))
	queue.Replace(nil, "7")
	<-queue.Ready()
	require.True(t, queue.Pop(&batch))
	require.True(t, batch.Synced)
	require.Equal(t, "7", batch.ResourceVersion)
	require.False(t, queue.Pop(&batch), "and that is said once")
}

// "Synced" before the last object of the first list is out makes a controller
// create what is there already.
func TestSyncedComesWithTheLastOfTheFirstList(t *testing.T) {
	copy := NewStore[*corev1.Pod](StoreOptions{})
	queue := NewDeltaQueue(copy, DeltaQueueOptions{BatchSize: 2})
	queue.Replace(smallPods(5), "7")
	queue.Apply(modified(&corev1.Pod{}))
	var batch Batch[*corev1.Pod]
	for _, synced := range []bool{false, false, true} {
		<-queue.Ready()
		require.True(t, queue.Pop(&batch))
		require.Len(t, batch.Deltas, 2)
		require.Equal(t, synced, batch.Synced)
	}
	require.True(t, batch.Deltas[0].Initial)
	require.False(t, batch.Deltas[1].Initial)
}

// The memory of a flood goes back when the flood is over.
func TestAnEmptyQueueHoldsNothing(t *testing.T) {
	copy := NewStore[*corev1.Pod](StoreOptions{})
	queue := NewDeltaQueue(copy, DeltaQueueOptions{})
	queue.Replace(smallPods(20_000), "7")
	var batch Batch[*corev1.Pod]
	for queue.Pop(&batch) {
	}
	require.Nil(t, queue.buffer.queue.front)
	require.Nil(t, queue.buffer.queue.nodes)
	require.Equal(t, maxSpareNodes, queue.buffer.queue.spares)
	for spare := queue.buffer.queue.spare; spare != nil; spare = spare.next {
		require.Nil(t, spare.value.now, "a spare node keeps an object alive")
	}
}

// A consumer that waits for news must not keep the last news alive.
func TestABatchThatWasAppliedHoldsNothing(t *testing.T) {
	queue := NewDeltaQueue(NewStore[*corev1.Pod](StoreOptions{}), DeltaQueueOptions{})
	queue.Replace(smallPods(5), "7")
	var batch Batch[*corev1.Pod]
	require.True(t, queue.Pop(&batch))
	require.Len(t, batch.Deltas, 5)
	require.False(t, queue.Pop(&batch))
	for _, delta := range batch.Deltas[:cap(batch.Deltas)] {
		require.Zero(t, delta)
	}
}

// Pods of Jobs come and go by the thousand while a consumer is busy.
func TestWhatCameAndWentLeavesNothingInTheQueue(t *testing.T) {
	queue := NewDeltaQueue(NewStore[*corev1.Pod](StoreOptions{}), DeltaQueueOptions{})
	for range 3 {
		queue.Apply(Event[*corev1.Pod]{Type: watch.Added, Object: podAt("a", "1")})
		queue.Apply(modified(podAt("a", "2")))
		require.Equal(t, 1, queue.Len())
		queue.Apply(Event[*corev1.Pod]{Type: watch.Deleted, Object: podAt("a", "3")})
		require.Zero(t, queue.Len())
	}
}

// A watch that resumes may say again that an object was added. If its deletion comes
// before the consumer does, that must not be taken for an object that came and went:
// the consumer has it, and would keep it forever.
func TestAnObjectThatIsAddedTwiceIsStillDeleted(t *testing.T) {
	for name, appliesEarly := range inorder.Map(map[string]bool{"known to the consumer": true, "on its way to the consumer": false}) {
		t.Run(name, func(t *testing.T) {
			copy := NewStore[*corev1.Pod](StoreOptions{})
			queue := NewDeltaQueue(copy, DeltaQueueOptions{})
			var batch Batch[*corev1.Pod]
			queue.Apply(Event[*corev1.Pod]{Type: watch.Added, Object: podAt("a", "1")})
			require.True(t, queue.Pop(&batch))
			if appliesEarly {
				copy.Put(batch.Deltas[0].Object)
				require.False(t, queue.Pop(&batch))
			}
			queue.Apply(Event[*corev1.Pod]{Type: watch.Added, Object: podAt("a", "1")})
			queue.Apply(Event[*corev1.Pod]{Type: watch.Deleted, Object: podAt("a", "2")})
			if !appliesEarly {
				copy.Put(batch.Deltas[0].Object)
			}
			require.True(t, queue.Pop(&batch), "the deletion is lost")
			require.Equal(t, DeltaDeleted, batch.Deltas[len(batch.Deltas)-1].Type, "the last that is told is the end")
		})
	}
}

// A reflector and a consumer at full speed, with relists in between.
func TestTheQueueCanBeFilledAndEmptiedAtTheSameTime(t *testing.T) {
	const rounds, keys = 300, 40
	copy := NewStore[*corev1.Pod](StoreOptions{})
	queue := NewDeltaQueue(copy, DeltaQueueOptions{BatchSize: 7})
	last := strconv.Itoa(rounds * keys)
	go func() {
		version := 0
		for round := range rounds {
			pods := smallPods(keys)
			for _, pod := range pods {
				version++
				pod.ResourceVersion = strconv.Itoa(version)
				if round%5 != 0 {
					queue.Apply(modified(pod))
				}
			}
			if round%5 == 0 {
				queue.Replace(pods[round%keys:], strconv.Itoa(version))
			}
			runtime.Gosched()
		}
	}()
	var batch Batch[*corev1.Pod]
	for limit := time.After(time.Minute); batch.ResourceVersion != last; {
		select {
		case <-queue.Ready():
		case <-limit:
			t.Fatal("the queue no longer reports news")
		}
		for queue.Pop(&batch) {
			for _, delta := range batch.Deltas {
				_, has := copy.Get(delta.Key)
				require.Equal(t, delta.Type != DeltaAdded, has)
				if delta.Type == DeltaDeleted {
					copy.Delete(delta.Key)
				} else {
					copy.Put(delta.Object)
				}
			}
			if batch.ResourceVersion != "" {
				break
			}
		}
	}
	require.Equal(t, keys, copy.Len())
}

func TestTheRecorderIsToldOfDeltasAndTombstones(t *testing.T) {
	recorder := trace.New(16)
	copy := NewStore[*corev1.Pod](StoreOptions{})
	copy.Put(podAt("a", "1"))
	queue := NewDeltaQueue(copy, DeltaQueueOptions{Recorder: recorder, Kind: "Pod"})
	queue.Apply(modified(podAt("a", "2")))
	queue.Replace(nil, "3")
	var batch Batch[*corev1.Pod]
	require.True(t, queue.Pop(&batch))
	events := recorder.Events()
	require.Len(t, events, 2)
	require.Equal(t, "MODIFIED", events[0].Op)
	require.Equal(t, "tombstone", events[1].Op)
	require.Equal(t, "2", events[1].Version)
	require.Equal(t, 1, events[1].Count)
}

// metrics.k8s.io lists without a resourceVersion, and its objects have none. Its
// collections are polled: each list must lead to what has changed since the last.
func TestListsWithoutVersionsSyncAndLeadToWhatHasChanged(t *testing.T) {
	list := func(loads map[string]string) []*corev1.Pod {
		var pods []*corev1.Pod
		for _, name := range []string{"a", "b", "c"} {
			if load, ok := loads[name]; ok {
				pods = append(pods, podOn(name, load))
			}
		}
		return pods
	}
	copy := NewStore[*corev1.Pod](StoreOptions{})
	queue := NewDeltaQueue(copy, DeltaQueueOptions{})
	for _, step := range []struct {
		name  string
		loads map[string]string
		want  []string
	}{
		{"the first list", map[string]string{"a": "1", "b": "1"}, []string{"Added a", "Added b"}},
		{"nothing has changed", map[string]string{"a": "1", "b": "1"}, nil},
		{"one has changed", map[string]string{"a": "1", "b": "2"}, []string{"Updated b"}},
		{"one has come and one has gone", map[string]string{"b": "2", "c": "1"}, []string{"Added c", "Deleted a"}},
		{"all have gone", nil, []string{"Deleted b", "Deleted c"}},
	} {
		queue.Replace(list(step.loads), "")
		<-queue.Ready()
		var batch Batch[*corev1.Pod]
		require.True(t, queue.Pop(&batch), step.name)
		require.True(t, batch.Synced, "%s: the first list was handed over", step.name)
		require.Empty(t, batch.ResourceVersion, "%s: the collection has no version", step.name)
		var got []string
		for _, delta := range batch.Deltas {
			got = append(got, delta.Type.String()+" "+delta.Key.Name)
			if delta.Type == DeltaDeleted {
				copy.Delete(delta.Key)
			} else {
				copy.Put(delta.Object)
			}
		}
		require.ElementsMatch(t, step.want, got, step.name)
		require.False(t, queue.Pop(&batch), step.name)
	}
}

func TestAnEmptyListWithoutAVersionIsSynced(t *testing.T) {
	queue := NewDeltaQueue(NewStore[*corev1.Pod](StoreOptions{}), DeltaQueueOptions{})
	queue.Replace(nil, "")
	<-queue.Ready()
	var batch Batch[*corev1.Pod]
	require.True(t, queue.Pop(&batch))
	require.True(t, batch.Synced)
	require.False(t, queue.Pop(&batch), "and that is said once")
}
