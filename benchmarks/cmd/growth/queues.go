package main

import (
	"fmt"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/loopwright/loopwright/workqueue"
)

// queueSide is a queue that can put items off. We compare the plain ones, and those with priorities.
type queueSide struct {
	name string
	make func() upstream.TypedDelayingInterface[request]
}

type request = reconcile.Request

var queueSides = []queueSide{
	{"our queue", func() upstream.TypedDelayingInterface[request] {
		return workqueue.NewDelaying(workqueue.Options[request]{})
	}},
	{"client-go", func() upstream.TypedDelayingInterface[request] { return upstream.NewTypedDelayingQueue[request]() }},
	{"our priority queue", func() upstream.TypedDelayingInterface[request] {
		return workqueue.NewPriority(workqueue.PriorityOptions[request]{})
	}},
	{"controller-runtime", func() upstream.TypedDelayingInterface[request] { return priorityqueue.New[request]("") }},
}

// measureMap is what no queue can do without: it puts all items into a plain map.
func measureMap(items int) error {
	keys := queueKeys(items)
	clock, all := startClock(), map[request]*int{}
	for _, key := range keys {
		all[key] = new(int)
	}
	clock.tell("add")
	runtime.KeepAlive(all)
	return nil
}

func queueKeys(items int) []request {
	keys := make([]request, items)
	for number := range keys {
		keys[number] = request{NamespacedName: types.NamespacedName{Namespace: namespaceOf(number), Name: nameOf(number)}}
	}
	return keys
}

// measureQueue is the process of one queue: it puts all items off until one moment, and takes them as they come out.
func measureQueue(s queueSide, items int) error {
	keys := queueKeys(items)
	queue := s.make()
	defer queue.ShutDown()
	before := liveHeap()
	due := time.Now().Add(5*time.Second + time.Duration(items)*30*time.Microsecond) // time enough for the slowest
	clock := startClock()
	for _, key := range keys {
		queue.AddAfter(key, time.Until(due))
	}
	takenIn(queue)
	clock.tell("add")
	tell("item-B", (liveHeap()-before)/float64(items))
	if late := time.Since(due); late > 0 {
		return fmt.Errorf("%s took in %d items %s after they were due", s.name, items, late)
	}
	clock = startClock() // before they're due: a queue needn't wait for the first Get
	for range keys {
		item, shutdown := queue.Get()
		if shutdown {
			return fmt.Errorf("%s has shut down", s.name)
		}
		queue.Done(item)
	}
	tell("fire-sec", time.Since(due).Seconds())
	tell("fire-cpu-sec", clock.processorTime().Seconds())
	if left := queue.Len(); left > 0 {
		return fmt.Errorf("%s has %d items more than it was given", s.name, left)
	}
	return nil
}

// takenIn waits until a queue, in which nothing is due, has taken in all that it was given: it lets no later item overtake.
func takenIn(queue upstream.TypedDelayingInterface[request]) {
	queue.AddAfter(request{}, time.Nanosecond)
	last, _ := queue.Get()
	queue.Done(last)
}
