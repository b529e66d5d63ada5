package workqueue

import (
	"runtime"
	"testing"
	"time"

	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/loopwright/loopwright/workqueue"
)

type delaying = upstream.TypedDelayingInterface[request]

var delayingPeers = []struct {
	name string
	make func() delaying
}{
	{"ours", func() delaying { return workqueue.NewDelaying(workqueue.Options[request]{}) }},
	{"client-go", func() delaying { return upstream.NewTypedDelayingQueue[request]() }},
	{"controller-runtime", func() delaying { return priorityqueue.New[request]("") }},
}

// delayAll puts all keys off, for an hour and more in no order, and returns when
// the queue has taken them in.
func delayAll(q delaying, keys []request) {
	for i, key := range keys {
		q.AddAfter(key, time.Hour+time.Duration(i*7919%len(keys))*time.Millisecond)
	}
	takenIn(q)
}

// takenIn waits until a queue, in which nothing is due, has taken in all that it was
// given. client-go's hands delays to its goroutine through a channel, and
// controller-runtime's puts adds aside. Neither lets a later one overtake.
func takenIn(q delaying) {
	q.AddAfter(request{}, time.Nanosecond)
	last, _ := q.Get()
	q.Done(last)
}

// BenchmarkAddAfter puts 10,000 different items off, in a queue that has held as
// many before; that they come due, are taken and finished is not counted. One
// operation is one item.
func BenchmarkAddAfter(b *testing.B) {
	keys := Requests(10_000)
	for _, peer := range delayingPeers {
		b.Run(peer.name, func(b *testing.B) {
			q := peer.make()
			defer q.ShutDown()
			takeAll := func() {
				for range keys {
					item, _ := q.Get()
					q.Done(item)
				}
			}
			putOff := func(keys []request) {
				for i, key := range keys {
					q.AddAfter(key, 10*time.Millisecond+time.Duration(i*7919%len(keys))*time.Microsecond)
				}
			}
			putOff(keys)
			takeAll()
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; done += len(keys) {
				putOff(keys)
				q.Len()
				b.StopTimer()
				takeAll()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkPutOff changes the delay of one item after another: they have one
// already, so nothing grows.
func BenchmarkPutOff(b *testing.B) {
	keys := Requests(10_000)
	for _, peer := range delayingPeers {
		b.Run(peer.name, func(b *testing.B) {
			q := peer.make()
			defer q.ShutDown()
			delayAll(q, keys)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				q.AddAfter(keys[i%len(keys)], time.Minute+time.Duration(i*7919%10_000)*time.Millisecond)
			}
			takenIn(q)
		})
	}
}

// BenchmarkMillionDelayed reports how much memory a delayed item takes, without
// its strings.
func BenchmarkMillionDelayed(b *testing.B) {
	keys := Requests(1_000_000)
	for _, peer := range delayingPeers {
		b.Run(peer.name, func(b *testing.B) {
			for b.Loop() {
				q := peer.make()
				before := heapInUse()
				delayAll(q, keys)
				after := heapInUse()
				b.ReportMetric(float64(after-before)/float64(len(keys)), "B/item")
				q.ShutDown()
			}
		})
	}
	runtime.KeepAlive(keys)
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
