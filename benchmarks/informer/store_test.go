package informer_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loopwright/loopwright/informer"
)

// One of 10,000 objects changes, in a store with two indices.
func BenchmarkStoreUpdate(b *testing.B) {
	pods := somePods(10_000)
	moved := somewhereElse(pods)
	pick := func(i int, move bool) int {
		if move && i/len(pods)%2 == 0 {
			return -1
		}
		return i % len(pods)
	}
	for name, move := range map[string]bool{"same-values": false, "another-node": true} {
		b.Run(name, func(b *testing.B) {
			b.Run("ours", func(b *testing.B) {
				store, _ := ours(pods)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if at := pick(i, move); at >= 0 {
						store.Put(pods[at])
					} else {
						store.Put(moved[i%len(pods)])
					}
				}
			})
			b.Run("client-go", func(b *testing.B) {
				store := theirs(anys(pods))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if at := pick(i, move); at >= 0 {
						_ = store.Update(pods[at])
					} else {
						_ = store.Update(moved[i%len(pods)])
					}
				}
			})
		})
	}
}

// A relist: the store is given 10,000 objects.
func BenchmarkStoreReplace(b *testing.B) {
	pods := somePods(10_000)
	objects := anys(pods)
	b.Run("ours", func(b *testing.B) {
		store, _ := ours(nil)
		b.ReportAllocs()
		for b.Loop() {
			store.Replace(pods)
		}
	})
	b.Run("client-go", func(b *testing.B) {
		store := theirs(nil)
		b.ReportAllocs()
		for b.Loop() {
			_ = store.Replace(objects, "1")
		}
	})
}

func BenchmarkStoreGet(b *testing.B) {
	pods := somePods(10_000)
	b.Run("ours", func(b *testing.B) {
		store, _ := ours(pods)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			store.Get(informer.KeyOf(pods[i%len(pods)]))
		}
	})
	b.Run("client-go", func(b *testing.B) {
		store := theirs(anys(pods))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, _, _ = store.Get(pods[i%len(pods)])
		}
	})
}

// The pods of one node: 50 of 10,000.
func BenchmarkStoreByIndex(b *testing.B) {
	pods := somePods(10_000)
	b.Run("ours", func(b *testing.B) {
		_, byNode := ours(pods)
		b.ReportAllocs()
		for b.Loop() {
			found := 0
			for range byNode.Lookup("node-7") {
				found++
			}
			if found != 50 {
				b.Fatal(found)
			}
		}
	})
	b.Run("client-go", func(b *testing.B) {
		store := theirs(anys(pods))
		b.ReportAllocs()
		for b.Loop() {
			found := 0
			onNode, err := store.ByIndex("node", "node-7")
			for range onNode {
				found++
			}
			if found != 50 {
				b.Fatal(found, err)
			}
		}
	})
}

// All of 10,000.
func BenchmarkStoreList(b *testing.B) {
	pods := somePods(10_000)
	b.Run("ours", func(b *testing.B) {
		store, _ := ours(pods)
		b.ReportAllocs()
		for b.Loop() {
			found := 0
			for range store.All() {
				found++
			}
		}
	})
	b.Run("client-go", func(b *testing.B) {
		store := theirs(anys(pods))
		b.ReportAllocs()
		for b.Loop() {
			found := 0
			for range store.List() {
				found++
			}
		}
	})
}

// What the store takes for each of 100,000 objects with two indices, without
// the objects, which are there anyway: bytes/object.
func BenchmarkStoreMemory(b *testing.B) {
	pods := somePods(100_000)
	objects := anys(pods)
	measure := func(b *testing.B, fill func() any) {
		var before, after runtime.MemStats
		for b.Loop() {
			runtime.GC()
			runtime.ReadMemStats(&before)
			store := fill()
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(store)
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(pods)), "bytes/object")
	}
	b.Run("ours", func(b *testing.B) {
		measure(b, func() any { store, _ := ours(pods); return store })
	})
	b.Run("client-go", func(b *testing.B) {
		measure(b, func() any { return theirs(objects) })
	})
	runtime.KeepAlive(pods)
	runtime.KeepAlive(objects)
}

// The longest that a reader waits for one object while 150,000 are replaced. A
// machine with other things to do stalls everybody now and then, but what the
// store does it does in every Replace. So stall-ms is the longest stall within a
// Replace, for the Replace that was disturbed least. The row no-store has a
// reader that reads nothing: it is what is left of the machine.
func BenchmarkStoreStall(b *testing.B) {
	pods := somePods(150_000)
	objects := anys(pods)
	measure := func(b *testing.B, get func(), replace func()) {
		var stop atomic.Bool
		var longest atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for !stop.Load() {
				begin := time.Now()
				get()
				if took := int64(time.Since(begin)); took > longest.Load() {
					longest.Store(took)
				}
			}
		}()
		least := time.Hour
		for b.Loop() {
			longest.Store(0)
			replace()
			time.Sleep(time.Millisecond) // for a stalled reader to notice
			least = min(least, time.Duration(longest.Load()))
		}
		stop.Store(true)
		<-done
		b.ReportMetric(float64(least.Microseconds())/1000, "stall-ms")
	}
	b.Run("ours", func(b *testing.B) {
		store, _ := ours(pods)
		key := informer.KeyOf(pods[7])
		measure(b, func() { store.Get(key) }, func() { store.Replace(pods) })
	})
	b.Run("no-store", func(b *testing.B) {
		store, _ := ours(pods)
		measure(b, func() {}, func() { store.Replace(pods) })
	})
	b.Run("client-go", func(b *testing.B) {
		store := theirs(objects)
		key := fmt.Sprintf("%s/%s", pods[7].Namespace, pods[7].Name)
		measure(b, func() { _, _, _ = store.GetByKey(key) }, func() { _ = store.Replace(objects, "1") })
	})
}

// One writer among two readers that list 50,000 objects all the time: the time
// of a write.
func BenchmarkStoreWriterAmongReaders(b *testing.B) {
	pods := somePods(50_000)
	measure := func(b *testing.B, list func(), write func(i int)) {
		var stop atomic.Bool
		done := make(chan struct{})
		for range 2 {
			go func() {
				for !stop.Load() {
					list()
				}
				done <- struct{}{}
			}()
		}
		for i := 0; b.Loop(); i++ {
			write(i % len(pods))
		}
		stop.Store(true)
		<-done
		<-done
	}
	b.Run("ours", func(b *testing.B) {
		store, _ := ours(pods)
		measure(b, func() {
			for range store.All() {
			}
		}, func(i int) { store.Put(pods[i]) })
	})
	b.Run("client-go", func(b *testing.B) {
		store := theirs(anys(pods))
		measure(b, func() {
			for range store.List() {
			}
		}, func(i int) { _ = store.Update(pods[i]) })
	})
}
