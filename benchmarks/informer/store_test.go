package informer_test

import (
	"runtime"
	"testing"
)

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
