package informer

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
)

// BenchmarkDeltaQueue queues 1,000 events, each of which brings a new state, and brings a copy up
// to date.
func BenchmarkDeltaQueue(b *testing.B) {
	for name, keys := range inorder.Map(map[string]int{"one hot key": 1, "1000 keys": 1000}) {
		for mode, everyEvent := range inorder.Map(map[string]bool{"merged": false, "every event": true}) {
			b.Run(name+"/"+mode, func(b *testing.B) { benchmarkDeltaQueue(b, keys, everyEvent) })
		}
	}
}

func benchmarkDeltaQueue(b *testing.B, keys int, everyEvent bool) {
	states := [3][]*corev1.Pod{smallPods(keys), smallPods(keys), smallPods(keys)}
	for i, pods := range states {
		for _, pod := range pods {
			pod.ResourceVersion += strconv.Itoa(i)
		}
	}
	copy := NewStore[*corev1.Pod](StoreOptions{})
	copy.Replace(states[0])
	queue := NewDeltaQueue(copy, DeltaQueueOptions{EveryEvent: everyEvent})
	var batch Batch[*corev1.Pod]
	round := 0
	b.ReportAllocs()
	for b.Loop() {
		round++
		for i := range 1000 {
			queue.Apply(Event[*corev1.Pod]{Type: watch.Modified, Object: states[(round+i/keys)%len(states)][i%keys], ResourceVersion: "1"})
		}
		for queue.Pop(&batch) {
			for _, delta := range batch.Deltas {
				copy.Put(delta.Object)
			}
		}
	}
}
