package controller

import (
	"context"
	"sync"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// requestQueue is a queue as workers need it. workqueue.PriorityQueue is one.
type requestQueue interface {
	priorityqueue.PriorityQueue[reconcile.Request]
	Next(ctx context.Context) (workqueue.Work[reconcile.Request], error)
	Drain(ctx context.Context) error
}

var _ requestQueue = (*workqueue.PriorityQueue[reconcile.Request])(nil)

// clientQueue is what client-go calls a queue, and what NewQueue may return.
type clientQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// queueOf makes a requestQueue of whatever NewQueue returned.
func queueOf(queue clientQueue) requestQueue {
	if complete, ok := queue.(requestQueue); ok {
		return complete
	}
	return adaptedQueue{queue, new(sync.Once)}
}

// adaptedQueue adds to a queue what it lacks, as well as one can from outside. What it has
// itself, it does itself.
type adaptedQueue struct {
	clientQueue
	shutDown *sync.Once
}

// AddWithOpts leaves the priority out if the queue knows none.
func (q adaptedQueue) AddWithOpts(o workqueue.AddOpts, items ...reconcile.Request) {
	if queue, ok := q.clientQueue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(o, items...)
		return
	}
	explained, _ := q.clientQueue.(interface {
		AddBecause(item reconcile.Request, reason string)
		AddRateLimitedBecause(item reconcile.Request, reason string)
	})
	for _, item := range items {
		if o.RateLimited && o.After > 0 {
			q.AddAfter(item, o.After) // the shorter delay counts, and if both do, that is one look more
		}
		switch {
		case o.RateLimited && explained != nil:
			explained.AddRateLimitedBecause(item, o.ReasonText())
		case o.RateLimited:
			q.AddRateLimited(item)
		case o.After > 0:
			q.AddAfter(item, o.After)
		case explained != nil:
			explained.AddBecause(item, o.ReasonText())
		default:
			q.Add(item)
		}
	}
}

func (q adaptedQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	if queue, ok := q.clientQueue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		return queue.GetWithPriority()
	}
	item, shutdown = q.Get()
	return item, 0, shutdown
}

// Next cannot end with the context if the queue does not know contexts. The controller shuts the
// queue down when it stops, and this ends it.
func (q adaptedQueue) Next(ctx context.Context) (workqueue.Work[reconcile.Request], error) {
	if queue, ok := q.clientQueue.(contextQueue); ok {
		return queue.Next(ctx)
	}
	item, priority, shutdown := q.GetWithPriority()
	if shutdown {
		return workqueue.Work[reconcile.Request]{}, workqueue.ErrShutDown
	}
	return workqueue.Work[reconcile.Request]{Item: item, Priority: priority}, nil
}

// contextQueue is a queue that knows contexts. All of ours do.
type contextQueue interface {
	Next(context.Context) (workqueue.Work[reconcile.Request], error)
}

func (q adaptedQueue) knowsContexts() bool {
	_, ok := q.clientQueue.(contextQueue)
	return ok
}

// ShutDown shuts the queue down once. Not every queue allows a second time: the one that
// controller-runtime has for priorities panics.
func (q adaptedQueue) ShutDown() { q.shutDown.Do(q.clientQueue.ShutDown) }

// Drain of a queue that knows no contexts is a ShutDown: its workers get what waits, and then learn
// that there is no more. So the queue is drained when they are gone, and finish waits for them.
// ShutDownWithDrain would have to be ended by a ShutDown.
func (q adaptedQueue) Drain(ctx context.Context) error {
	if queue, ok := q.clientQueue.(interface{ Drain(context.Context) error }); ok {
		return queue.Drain(ctx)
	}
	q.ShutDown()
	return nil
}

// sourceQueue is what a source is given: the queue, and with it a way to wake requests that wait
// for another object, and to say what the source does.
type sourceQueue struct {
	requestQueue
	reconcile.Waker
	controller *controlLoop
}

// GetLogger returns the controller's logger, without a request.
func (q sourceQueue) GetLogger() logr.Logger { return q.controller.GetLogger() }

// FlightRecorder returns the controller's recorder, and the layer of its events.
func (q sourceQueue) FlightRecorder() (recorder *trace.Recorder, layer string) {
	return q.controller.options.Recorder, q.controller.name
}
