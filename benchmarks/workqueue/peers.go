// Package workqueue measures Loopwright's work queues beside client-go's and
// controller-runtime's, and proves that ours can take their places.
package workqueue

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/workqueue"
)

type request = reconcile.Request

// Queue is what all of them can do.
type Queue interface {
	Add(request)
	Get() (item request, shutdown bool)
	Done(request)
	ShutDown()
}

// Requests are keys as a controller has them.
func Requests(n int) []request {
	keys := make([]request, n)
	for i := range keys {
		keys[i] = request{NamespacedName: types.NamespacedName{
			Namespace: fmt.Sprintf("namespace-%d", i%50), Name: fmt.Sprintf("deployment-%d-7c5ddbdf54-x2x4q", i)}}
	}
	return keys
}

// Peers are the queues that are compared. A Name is a sub-benchmark's.
var Peers = []struct {
	Name string
	Make func() Queue
}{
	{"ours", func() Queue { return workqueue.New(workqueue.Options[request]{}) }},
	{"ours-priority", func() Queue { return workqueue.NewPriority(workqueue.PriorityOptions[request]{}) }},
	{"ours-fair", func() Queue {
		return workqueue.NewPriority(workqueue.PriorityOptions[request]{Group: func(r request) string { return r.Namespace }})
	}},
	{"mini", func() Queue { return miniQueue{mini.NewQueue("mini")} }},
	{"client-go", func() Queue { return upstream.NewTyped[request]() }},
	{"controller-runtime", func() Queue { return priorityqueue.New[request]("") }},
}

// miniQueue is the queue of the course, which knows requests by their names alone.
type miniQueue struct{ *mini.Queue }

func (q miniQueue) Add(r request)  { q.Queue.Add(r.NamespacedName) }
func (q miniQueue) Done(r request) { q.Queue.Done(r.NamespacedName) }
func (q miniQueue) Get() (request, bool) {
	name, shutdown := q.Queue.Get()
	return request{NamespacedName: name}, shutdown
}

// Run has workers finish n items that one producer adds, 10,000 different ones
// at a time, and returns when all are finished.
func Run(q Queue, keys []request, workers, n int) {
	var left, all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(item)
				left.Done()
			}
		})
	}
	for n > 0 {
		batch := keys[:min(n, len(keys))]
		left.Add(len(batch))
		for _, key := range batch {
			q.Add(key)
		}
		left.Wait()
		n -= len(batch)
	}
	q.ShutDown()
	all.Wait()
}
