package trace

import (
	"strconv"
	"testing"
)

// The names change from event to event, as in a real program, so that the compiler cannot build the
// Event ahead of time.
var names = func() (n [64]string) {
	for i := range n {
		n[i] = "web-" + strconv.Itoa(i)
	}
	return n
}()

// record is written as a layer writes it: it asks first.
func record(rec *Recorder, i int) {
	if rec.On() {
		rec.Record(Event{Kind: WatchEvent, Layer: "listwatch", Object: "Pod", Namespace: "default",
			Name: names[i%len(names)], Version: "811", Op: "MODIFIED"})
	}
}

// off is a variable so that the compiler does not know that it is nil.
var off *Recorder

// BenchmarkNil is what a layer pays for a recorder that is off. Aim: under 2 ns.
func BenchmarkNil(b *testing.B) {
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		record(off, i)
		i++
	}
}

// BenchmarkOn records into a ring that fits into the processor's cache.
// Aim: under 60 ns, no allocation.
func BenchmarkOn(b *testing.B) {
	b.ReportAllocs()
	rec, i := New(0), 0
	for b.Loop() {
		record(rec, i)
		i++
	}
}

// BenchmarkOnParallel has every processor record into one ring, which a
// controller does not do outside its worst moments.
func BenchmarkOnParallel(b *testing.B) {
	b.ReportAllocs()
	rec := New(0)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			record(rec, i)
		}
	})
}

// BenchmarkFull overwrites a full ring that is larger than the cache.
func BenchmarkFull(b *testing.B) {
	b.ReportAllocs()
	rec, i := New(1<<16), 0
	for range 1 << 16 {
		record(rec, i)
	}
	for b.Loop() {
		record(rec, i)
		i++
	}
}

// BenchmarkFollowed records while a cursor reads along: the price of a live
// timeline.
func BenchmarkFollowed(b *testing.B) {
	rec, i := New(0), 0
	c := rec.Cursor()
	go func() {
		for c.Wait(b.Context()) == nil {
			c.Read()
		}
	}()
	for b.Loop() {
		record(rec, i)
		i++
	}
}

// BenchmarkReconciles records the five events of a request in a full ring, each of which becomes a
// part of the State. Aim: under 1 µs, no allocation.
func BenchmarkReconciles(b *testing.B) {
	b.ReportAllocs()
	rec, i := New(0), 0
	for b.Loop() {
		e := Event{Layer: "website", Namespace: "default", Name: names[i%len(names)]}
		for _, kind := range []Kind{Enqueue, Dequeue, ReconcileStart, ReconcileEnd, Done} {
			e.Kind = kind
			rec.Record(e)
		}
		i++
	}
}
