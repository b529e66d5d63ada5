package informer_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loopwright/loopwright/informer"
)

// What a reader of one object suffers while a whole collection is replaced. It is measured
// in two ways.
//
// blocked-ms is how long the reader was blocked by a lock in a Replace, all in all,
// by Go's own account: the block profile. That is what the store does to it.
//
// stall-ms is the longest single read in a Replace, on the wall clock, and the median
// of all Replaces: with the garbage collector off and the reader on an operating
// system's thread of its own, for what they do to a reader is not the store's doing.
// Other processes on the machine still have their share. How large it is, the row
// no-store shows, whose reader reads nothing.
func BenchmarkStoreStall(b *testing.B) {
	sizes := []int{5_000, 20_000, 50_000, 150_000}
	if testing.Short() {
		sizes = []int{1_000}
	}
	for _, size := range sizes {
		b.Run(fmt.Sprintf("objects=%d", size), func(b *testing.B) { stallWith(b, size) })
	}
}

func stallWith(b *testing.B, size int) {
	pods := somePods(size)
	objects := anys(pods)
	b.Run("ours", func(b *testing.B) {
		store, _ := ours(pods)
		key := informer.KeyOf(pods[7])
		measureStall(b, func() { store.Get(key) }, func() { store.Replace(pods) })
	})
	b.Run("no-store", func(b *testing.B) {
		store, _ := ours(pods)
		measureStall(b, func() {}, func() { store.Replace(pods) })
	})
	b.Run("client-go", func(b *testing.B) {
		store := theirs(objects)
		key := fmt.Sprintf("%s/%s", pods[7].Namespace, pods[7].Name)
		measureStall(b, func() { _, _, _ = store.GetByKey(key) }, func() { _ = store.Replace(objects, "1") })
	})
}

func measureStall(b *testing.B, get, replace func()) {
	runtime.SetBlockProfileRate(1) // every event
	defer runtime.SetBlockProfileRate(0)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := &stalledReader{finished: make(chan struct{}), done: make(chan struct{})}
	before := r.blocked()
	go r.read(get)
	var stalls []int64
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		r.longest.Store(0)
		b.StartTimer()
		replace()
		<-r.finished // a reader that is still stalled must notice
		stalls = append(stalls, r.longest.Load())
	}
	r.stop.Store(true)
	<-r.done
	slices.Sort(stalls)
	b.ReportMetric(float64(stalls[len(stalls)/2])/1e6, "stall-ms")
	b.ReportMetric(1000*(r.blocked()-before)/float64(len(stalls)), "blocked-ms")
}

// stalledReader reads all the time, and notes the longest read.
type stalledReader struct {
	stop     atomic.Bool
	longest  atomic.Int64
	finished chan struct{} // sent to by read after each one, if somebody waits for it
	done     chan struct{} // closed by read
}

func (r *stalledReader) read(get func()) {
	defer close(r.done)
	runtime.LockOSThread()
	for !r.stop.Load() {
		began := time.Now()
		get()
		if took := int64(time.Since(began)); took > r.longest.Load() {
			r.longest.Store(took)
		}
		select {
		case r.finished <- struct{}{}:
		default:
		}
	}
}

// blocked is for how many seconds readers of this kind were blocked since the
// process began. The profile's text tells how long a cycle is, and where each one
// was spent.
func (r *stalledReader) blocked() (seconds float64) {
	var text bytes.Buffer
	if err := pprof.Lookup("block").WriteTo(&text, 1); err != nil {
		panic(err)
	}
	var perSecond, cycles, events float64
	for _, place := range strings.Split(text.String(), "\n\n") {
		for line := range strings.Lines(place) {
			_, _ = fmt.Sscanf(line, "cycles/second=%f", &perSecond)
			_, _ = fmt.Sscanf(line, "%f %f @", &cycles, &events)
			if strings.Contains(line, "(*stalledReader).read+") {
				seconds += cycles / perSecond
				break
			}
		}
	}
	return seconds
}
