package handler

import (
	"time"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

type priorityQueue = priorityqueue.PriorityQueue[reconcile.Request]

// enqueue adds requests, and says as much about them as the queue can take. The queue that a
// controller hands out takes all.
func enqueue(queue clientQueue, opts workqueue.AddOpts, requests ...reconcile.Request) {
	switch queue := queue.(type) {
	case priorityQueue:
		queue.AddWithOpts(opts, requests...)
	case interface {
		AddBecause(item reconcile.Request, reason string)
	}:
		reason := opts.ReasonText()
		for _, request := range requests {
			queue.AddBecause(request, reason)
		}
	default:
		for _, request := range requests {
			queue.Add(request)
		}
	}
}

// eventQueue is the queue that users' code gets while it handles one event. Where an add does not
// say otherwise, it has the event's priority and reason. It may be kept and used later.
type eventQueue struct {
	priorityQueue
	opts  workqueue.AddOpts       // Priority, Reason and About
	added func(reconcile.Request) // nil unless somebody wants to know; called before the add
}

// newEventQueue returns the queue itself if it knows no priorities: it would lose what more it
// can do, and gain nothing. A reconcile.Waker stays one.
func newEventQueue(queue clientQueue, opts workqueue.AddOpts, added func(reconcile.Request)) clientQueue {
	inner, ok := queue.(priorityQueue)
	if !ok {
		return queue
	}
	q := eventQueue{inner, opts, added}
	if waker, ok := queue.(reconcile.Waker); ok {
		return &wakingQueue{q, waker}
	}
	return &q
}

type wakingQueue struct {
	eventQueue
	reconcile.Waker
}

func (q *eventQueue) Add(request reconcile.Request) { q.AddWithOpts(workqueue.AddOpts{}, request) }

func (q *eventQueue) AddAfter(request reconcile.Request, after time.Duration) {
	q.AddWithOpts(workqueue.AddOpts{After: after}, request)
}

func (q *eventQueue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(workqueue.AddOpts{RateLimited: true}, request)
}

func (q *eventQueue) AddWithOpts(opts workqueue.AddOpts, requests ...reconcile.Request) {
	if opts.Priority == nil {
		opts.Priority = q.opts.Priority
	}
	if opts.Reason == "" {
		opts.Reason, opts.About = q.opts.Reason, q.opts.About
	}
	if q.added != nil {
		for _, request := range requests {
			q.added(request)
		}
	}
	q.priorityQueue.AddWithOpts(opts, requests...)
}
