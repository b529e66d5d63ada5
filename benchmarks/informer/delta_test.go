package informer_test

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/informer"
)

// 1,000 updates are queued while the consumer is busy, and then applied to a
// store with two indices: all of one object, or one of each of 1,000. Each brings a new state.
func BenchmarkDeltaQueue(b *testing.B) {
	for name, keys := range map[string]int{"hot-key": 1, "1000-keys": 1000} {
		states := [3][]*corev1.Pod{somePods(keys), somePods(keys), somePods(keys)}
		for i, pods := range states {
			for _, pod := range pods {
				pod.ResourceVersion += strconv.Itoa(i)
			}
		}
		update := func(round, i int) *corev1.Pod { return states[(round+i/keys)%len(states)][i%keys] }
		b.Run(name, func(b *testing.B) {
			mine := func(b *testing.B, options informer.DeltaQueueOptions) {
				store, _ := ours(states[0])
				queue := informer.NewDeltaQueue(store, options)
				var batch informer.Batch[*corev1.Pod]
				round := 0
				b.ReportAllocs()
				for b.Loop() {
					round++
					for i := range 1000 {
						queue.Apply(informer.Event[*corev1.Pod]{Type: watch.Modified, Object: update(round, i), ResourceVersion: "1"})
					}
					for queue.Pop(&batch) {
						for _, delta := range batch.Deltas {
							store.Put(delta.Object)
						}
					}
				}
			}
			b.Run("ours", func(b *testing.B) { // what our informers use
				mine(b, informer.DeltaQueueOptions{EveryEvent: true})
			})
			b.Run("ours-merged", func(b *testing.B) { mine(b, informer.DeltaQueueOptions{}) })
			peer := func(b *testing.B, pops int, make func(cache.Indexer) cache.Queue) {
				store := theirs(anys(states[0]))
				queue := make(store)
				apply := func(object any, _ bool) error {
					switch object := object.(type) {
					case cache.Deltas:
						for _, delta := range object {
							if err := store.Update(delta.Object); err != nil {
								return err
							}
						}
					case cache.Delta:
						return store.Update(object.Object)
					}
					return nil
				}
				round := 0
				b.ReportAllocs()
				for b.Loop() {
					round++
					for i := range 1000 {
						_ = queue.Update(update(round, i))
					}
					for range pops {
						_, _ = queue.Pop(apply)
					}
				}
			}
			b.Run("client-go", func(b *testing.B) { // what its informers use
				peer(b, 1000, func(store cache.Indexer) cache.Queue {
					return cache.NewRealFIFO(cache.MetaNamespaceKeyFunc, store, nil)
				})
			})
			b.Run("client-go-DeltaFIFO", func(b *testing.B) { // what they used before
				peer(b, keys, func(store cache.Indexer) cache.Queue {
					return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: store, EmitDeltaTypeReplaced: true})
				})
			})
		})
	}
}
