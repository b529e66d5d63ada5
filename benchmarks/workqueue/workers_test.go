package workqueue

import (
	"fmt"
	"runtime/metrics"
	"testing"
)

// BenchmarkWorkers is one producer and 1, 10 or 100 workers that do nothing but
// get and done. One operation is one item.
//
// waiting is how many goroutines wait for a lock, on average. It shows which of two modes a
// run is in. In the good one it is near zero: one or two workers serve the queue, and those
// that were woken have no processor yet. In the other, many workers are awake and block on
// the lock in turn, and each hand-over costs a switch of goroutines; then our queue is as slow
// as client-go's, which is always in this mode.
func BenchmarkWorkers(b *testing.B) {
	keys := Requests(10_000)
	for _, workers := range []int{1, 10, 100} {
		for _, peer := range Peers {
			b.Run(fmt.Sprintf("%d/%s", workers, peer.Name), func(b *testing.B) {
				b.ReportAllocs()
				before := lockWait()
				Run(peer.Make(), keys, workers, b.N)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
				b.ReportMetric((lockWait()-before)/b.Elapsed().Seconds(), "waiting")
			})
		}
	}
}

// lockWait returns for how many seconds goroutines have waited for locks, all together.
func lockWait() float64 {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}
