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

// requestQueue is a queue with the methods of client-go's, such as NewQueue returns.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// controllerQueue is what workers and sources see of a controller's queue. It adds to the queue
// that NewQueue returned what that one lacks, as well as one can from outside. The default, a
// workqueue.PriorityQueue that Options.defaultQueue makes, lacks nothing: AddWithOpts,
// GetWithPriority, Next and Drain pass the call straight on.
type controllerQueue struct {
	requestQueue
	controller *controlLoop
	shutDown   sync.Once
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*controllerQueue)(nil)

// AddWithOpts leaves the priority out if the queue knows none.
func (q *controllerQueue) AddWithOpts(o workqueue.AddOpts, items ...reconcile.Request) {
	if queue, ok := q.requestQueue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		queue.AddWithOpts(o, items...)
		return
	}
	explained, _ := q.requestQueue.(interface {
		AddBecause(item reconcile.Request, reason string)
		AddRateLimitedBecause(item reconcile.Request, reason string)
	})
	for _, item := range items {
		if o.RateLimited && o.After != 0 {
			// the shorter delay counts, and if both do, that is one reconcile more
			q.AddAfter(item, max(o.After, 0))
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

// GetWithPriority returns priority 0 if the queue knows none.
func (q *controllerQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	if queue, ok := q.requestQueue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		return queue.GetWithPriority()
	}
	item, shutdown = q.Get()
	return item, 0, shutdown
}

// Next cannot end with the context if the queue does not know contexts. The controller shuts the
// queue down when it stops, and this ends it.
func (q *controllerQueue) Next(ctx context.Context) (workqueue.Work[reconcile.Request], error) {
	if queue, ok := q.requestQueue.(interface {
		Next(context.Context) (workqueue.Work[reconcile.Request], error)
	}); ok {
		return queue.Next(ctx)
	}
	item, priority, shutdown := q.GetWithPriority()
	if shutdown {
		return workqueue.Work[reconcile.Request]{}, workqueue.ErrShutDown
	}
	return workqueue.Work[reconcile.Request]{Item: item, Priority: priority}, nil
}

// ShutDown shuts the queue down once. Not every queue allows a second time: the one that
// controller-runtime has for priorities panics.
func (q *controllerQueue) ShutDown() { q.shutDown.Do(q.requestQueue.ShutDown) }

// Drain of a queue that knows no contexts is a ShutDown: its workers get what waits, and then learn
// that there is no more. So the queue is drained when they are gone, and finish waits for them.
// ShutDownWithDrain would have to be ended by a ShutDown.
func (q *controllerQueue) Drain(ctx context.Context) error {
	if queue, ok := q.requestQueue.(interface{ Drain(context.Context) error }); ok {
		return queue.Drain(ctx)
	}
	q.ShutDown()
	return nil
}

// Wake implements reconcile.Waker, for sources.
func (q *controllerQueue) Wake(ref reconcile.ObjectRef) { q.controller.Wake(ref) }

// GetLogger returns the controller's logger, without a request.
func (q *controllerQueue) GetLogger() logr.Logger { return q.controller.GetLogger() }

// FlightRecorder returns the controller's recorder, and the layer of its events.
func (q *controllerQueue) FlightRecorder() (recorder *trace.Recorder, layer string) {
	return q.controller.options.Recorder, q.controller.name
}
