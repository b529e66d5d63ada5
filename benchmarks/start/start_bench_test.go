package start

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkStart is the time from New until each of three controllers has reconciled an object. Heap is what
// the program holds when all objects have been reconciled.
func BenchmarkStart(b *testing.B) {
	sizes := []int{2_000, 5_000, 20_000, 50_000}
	if testing.Short() {
		sizes = []int{500}
	}
	for _, objects := range sizes {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) { startWith(b, objects) })
	}
}

func startWith(b *testing.B, objects int) {
	config, end := Serve(objects)
	defer end()
	for _, peer := range Peers {
		b.Run(peer.Name, func(b *testing.B) {
			var cpu time.Duration
			var heap, routines float64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				before, beforeGoroutines := heapAlloc(), runtime.NumGoroutine()
				p, began := NewProgress(objects), processorTime()
				b.StartTimer()
				stop := peer.Run(config, p.Seen)
				<-p.ready
				b.StopTimer()
				cpu += processorTime() - began
				<-p.done
				heap, routines = heapAlloc()-before, float64(runtime.NumGoroutine()-beforeGoroutines)
				must(stop())
				b.StartTimer()
			}
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(heap/1e6, "heap-MB")
			b.ReportMetric(routines, "goroutines")
		})
	}
}

// processorTime is what this process has used, its garbage collector included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func heapAlloc() float64 {
	runtime.GC()
	runtime.GC() // the first one leaves what has finalizers, and what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// The two sides must do the same, or their times could not be compared.
func TestBothManagersReconcileAllObjectsOnce(t *testing.T) {
	config, end := Serve(100)
	defer end()
	for _, peer := range Peers {
		p := NewProgress(100)
		var mu sync.Mutex
		seen := map[string]int{}
		stop := peer.Run(config, func(kind string) {
			mu.Lock()
			seen[kind]++
			mu.Unlock()
			p.Seen(kind)
		})
		<-p.ready
		<-p.done
		require.NoError(t, stop())
		require.Equal(t, map[string]int{"pods": 50, "configmaps": 40, "services": 10}, seen, peer.Name)
	}
}
