package informer_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/mini"
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
			b.Run("mini", func(b *testing.B) {
				store := minis(pods)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if at := pick(i, move); at >= 0 {
						store.Update(pods[at])
					} else {
						store.Update(moved[i%len(pods)])
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
	b.Run("mini", func(b *testing.B) {
		store, all := minis(nil), miniObjects(pods)
		b.ReportAllocs()
		for b.Loop() {
			store.Replace(all)
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
	b.Run("mini", func(b *testing.B) {
		store := minis(pods)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			store.Get(mini.KeyOf(pods[i%len(pods)]))
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
	b.Run("mini", func(b *testing.B) {
		store := minis(pods)
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
	b.Run("mini", func(b *testing.B) {
		store := minis(pods)
		b.ReportAllocs()
		for b.Loop() {
			found := 0
			for range store.List() {
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
	b.Run("mini", func(b *testing.B) {
		measure(b, func() any { return minis(pods) })
	})
	b.Run("client-go", func(b *testing.B) {
		measure(b, func() any { return theirs(objects) })
	})
	runtime.KeepAlive(pods)
	runtime.KeepAlive(objects)
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
