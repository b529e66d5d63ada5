package chapters

import (
	"sync"
	"testing"

	upstream "k8s.io/client-go/util/workqueue"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/workqueue"
)

// queue is what a worker needs of one.
type queue interface {
	Add(mini.Request)
	Get() (req mini.Request, shutdown bool)
	Done(mini.Request)
	ShutDown()
}

// A queue hands out one item at a time, under one lock. What does it cost, and what do 100 workers cost who all wait for
// it? And what does a busy object cost, which is added again and again while it waits?
func Benchmark06(b *testing.B) {
	queues := map[string]func() queue{
		"mini":      func() queue { return mini.NewQueue("bench") },
		"library":   func() queue { return workqueue.New(workqueue.Options[mini.Request]{}) },
		"client-go": func() queue { return upstream.NewTyped[mini.Request]() },
	}
	peers := func(measure func(b *testing.B, q queue, n int)) (all []peer) {
		for _, name := range []string{"mini", "library", "client-go"} {
			all = append(all, peer{name, func(b *testing.B, n int) { measure(b, queues[name](), n) }})
		}
		return all
	}
	items := requests(10_000)
	compare(b, "an item through Add, Get and Done", "workers", []int{1, 100}, peers(func(b *testing.B, q queue, workers int) {
		work(b, q, items, workers)
	})...)
	compare(b, "Add of an item that waits already", "waiting", []int{1, 10_000}, peers(func(b *testing.B, q queue, n int) {
		defer q.ShutDown()
		for _, item := range items[:n] {
			q.Add(item)
		}
		for i := 0; b.Loop(); i++ {
			q.Add(items[i%n])
		}
	})...)
}

// work has workers finish b.N items, which one producer adds, len(items) at a time.
func work(b *testing.B, q queue, items []mini.Request, workers int) {
	var open, ended sync.WaitGroup
	for range workers {
		ended.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(item)
				open.Done()
			}
		})
	}
	for left := b.N; left > 0; left -= len(items) {
		some := items[:min(left, len(items))]
		open.Add(len(some))
		for _, item := range some {
			q.Add(item)
		}
		open.Wait()
	}
	q.ShutDown()
	ended.Wait()
}
