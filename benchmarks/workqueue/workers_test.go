package workqueue

import (
	"fmt"
	"runtime/metrics"
	"syscall"
	"testing"
	"time"
)

// BenchmarkWorkers is one producer and 1, 2, 10 or 100 workers that do nothing but
// get and done. One operation is one item.
//
// A queue with one lock has two modes here, and the machine selects between them. If the kernel
// runs the process's threads one after the other, on one processor, nobody ever finds the lock
// taken. If it runs them at the same time, they find it taken all the time. Both happen with two
// processors, and which of them depends on what else they have to do; so compare figures
// of one mode only:
//
//   - cpu-ns/item is processor time. In the first mode, it is no more than ns/op. In the second,
//     it is up to twice as much.
//   - waiting is how many goroutines sleep until they get a lock, on average. In the
//     second mode, client-go's queue keeps nearly all workers asleep, and each item costs
//     a switch or two.
func BenchmarkWorkers(b *testing.B) {
	keys := Requests(10_000)
	for _, workers := range []int{1, 2, 10, 100} {
		for _, peer := range Peers {
			b.Run(fmt.Sprintf("workers=%d/%s", workers, peer.Name), func(b *testing.B) {
				b.ReportAllocs()
				waited, used := lockWait(), processorTime()
				Run(peer.Make(), keys, workers, b.N)
				b.ReportMetric(float64(processorTime()-used)/float64(b.N), "cpu-ns/item")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
				b.ReportMetric((lockWait()-waited)/b.Elapsed().Seconds(), "waiting")
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

// processorTime is what the process has used on all processors.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
