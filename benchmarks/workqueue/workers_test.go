package workqueue

import (
	"fmt"
	"testing"
)

// BenchmarkWorkers is one producer and 1, 10 or 100 workers that do nothing but
// get and done. One operation is one item.
func BenchmarkWorkers(b *testing.B) {
	keys := Requests(10_000)
	for _, workers := range []int{1, 10, 100} {
		for _, peer := range Peers {
			b.Run(fmt.Sprintf("%d/%s", workers, peer.Name), func(b *testing.B) {
				b.ReportAllocs()
				Run(peer.Make(), keys, workers, b.N)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
			})
		}
	}
}
