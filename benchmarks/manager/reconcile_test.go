package manager

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkReconcile adds 1,000 requests to a controller that runs, and waits until all are
// reconciled. One operation is one request.
func BenchmarkReconcile(b *testing.B) {
	names := Names(1000)
	for _, kind := range Kinds {
		b.Run(kind.Name, func(b *testing.B) {
			for _, peer := range kind.Peers {
				b.Run(peer.Name, func(b *testing.B) {
					var round sync.WaitGroup
					c := peer.Start(nil, func(context.Context, types.NamespacedName) { round.Done() })
					play := func() {
						round.Add(len(names))
						for _, name := range names {
							c.Add(name)
						}
						round.Wait()
					}
					play() // the first grows the maps
					b.ReportAllocs()
					b.ResetTimer()
					for done := 0; done < b.N; done += len(names) {
						play()
					}
					b.StopTimer()
					must(c.Stop())
				})
			}
		})
	}
}

// BenchmarkLoad adds requests to the default queue at a steady pace, of a quiet controller and of a busy one. The time for an
// operation would say nothing, because the pace is given. The two figures say how long a request takes from its add to its
// reconcile: the middle one, and the slowest of a hundred.
func BenchmarkLoad(b *testing.B) {
	for _, rate := range []int{500, 2_000, 8_000, 32_000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			for _, peer := range Kinds[0].Peers {
				b.Run(peer.Name, func(b *testing.B) {
					latencies := latenciesOf(peer, Names(b.N), time.Second/time.Duration(rate))
					b.ReportMetric(float64(latencies[len(latencies)/2].Nanoseconds()), "p50-ns")
					b.ReportMetric(float64(latencies[len(latencies)*99/100].Nanoseconds()), "p99-ns")
					b.ReportMetric(0, "ns/op")
				})
			}
		})
	}
}

// latenciesOf adds requests with a pause between them, and returns how long they took, sorted. One that was late, because the
// machine was busy or does not sleep for so short a time, is followed by the next without a pause. All names are different, so no two
// requests are merged.
func latenciesOf(peer Peer, names []types.NamespacedName, pause time.Duration) []time.Duration {
	var mu sync.Mutex // guards both
	added, latencies := make(map[types.NamespacedName]time.Time, len(names)), make([]time.Duration, 0, len(names))
	var left sync.WaitGroup
	left.Add(len(names))
	c := peer.Start(nil, func(_ context.Context, name types.NamespacedName) {
		now := time.Now()
		mu.Lock()
		latencies = append(latencies, now.Sub(added[name]))
		mu.Unlock()
		left.Done()
	})
	begin := time.Now()
	for i, name := range names {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * pause)))
		mu.Lock()
		added[name] = time.Now()
		mu.Unlock()
		c.Add(name)
	}
	left.Wait()
	must(c.Stop())
	slices.Sort(latencies)
	return latencies
}

// BenchmarkIdle counts the goroutines that a controller has while there is nothing to do, apart
// from the one in which its caller waits for Start. It is the only figure that counts here.
func BenchmarkIdle(b *testing.B) {
	for _, kind := range Kinds {
		b.Run(kind.Name, func(b *testing.B) {
			for _, peer := range kind.Peers {
				b.Run(peer.Name, func(b *testing.B) {
					const controllers = 10
					goroutines := 0
					for b.Loop() {
						goroutines = idle(peer, controllers)
					}
					b.ReportMetric(float64(goroutines-controllers)/controllers, "goroutines")
				})
			}
		})
	}
}

// idle starts controllers, and returns how many goroutines came with them.
func idle(peer Peer, controllers int) int {
	before := goroutines()
	running := make([]Running, controllers)
	for i := range running {
		reconciled := make(chan struct{}) // closed by the worker
		running[i] = peer.Start(Names(1), func(context.Context, types.NamespacedName) { close(reconciled) })
		<-reconciled // it has started all that it needs
	}
	count := goroutines() - before
	for _, c := range running {
		must(c.Stop())
	}
	return count
}

// goroutines counts them when those that are about to end have ended.
func goroutines() int {
	count := runtime.NumGoroutine()
	for range 20 {
		time.Sleep(time.Millisecond)
		count = min(count, runtime.NumGoroutine())
	}
	return count
}
