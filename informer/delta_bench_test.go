package informer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
)

// BenchmarkDeltaQueue queues 1,000 events and brings a copy up to date.
func BenchmarkDeltaQueue(b *testing.B) {
	for name, keys := range inorder.Map(map[string]int{"one hot key": 1, "1000 keys": 1000}) {
		b.Run(name, func(b *testing.B) {
			pods := smallPods(keys)
			copy := NewStore[*corev1.Pod](StoreOptions{})
			copy.Replace(pods)
			queue := NewDeltaQueue(copy, DeltaQueueOptions{})
			var batch Batch[*corev1.Pod]
			b.ReportAllocs()
			for b.Loop() {
				for i := range 1000 {
					queue.Apply(Event[*corev1.Pod]{Type: watch.Modified, Object: pods[i%keys], ResourceVersion: "1"})
				}
				for queue.Pop(&batch) {
					for _, delta := range batch.Deltas {
						copy.Put(delta.Object)
					}
				}
			}
		})
	}
}
