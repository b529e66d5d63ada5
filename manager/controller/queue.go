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

// controllerQueue is the controller's queue as workers and sources see it. It makes up for the
// methods that the queue from NewQueue lacks, as well as that can be done from outside. The
// default, a workqueue.PriorityQueue that Options.defaultQueue makes, lacks none: AddWithOpts,
// GetWithPriority, Next and Drain pass the call straight on.
type controllerQueue[request comparable] struct {
	workqueue.TypedRateLimitingInterface[request] // what NewQueue returned
	controller                                    *controlLoop[request]
	shutDown                                      sync.Once
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = (*controllerQueue[reconcile.Request])(nil)

// AddWithOpts drops the priority if the queue has none.
func (q *controllerQueue[request]) AddWithOpts(o workqueue.AddOpts, items ...request) {
	if queue, ok := q.TypedRateLimitingInterface.(priorityqueue.PriorityQueue[request]); ok {
		queue.AddWithOpts(o, items...)
		return
	}
	explained, _ := q.TypedRateLimitingInterface.(interface {
		AddBecause(item request, reason string)
		AddRateLimitedBecause(item request, reason string)
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

// GetWithPriority returns priority 0 if the queue has none.
func (q *controllerQueue[request]) GetWithPriority() (item request, priority int, shutdown bool) {
	if queue, ok := q.TypedRateLimitingInterface.(priorityqueue.PriorityQueue[request]); ok {
		return queue.GetWithPriority()
	}
	item, shutdown = q.Get()
	return item, 0, shutdown
}

// Next doesn't end with the context if the queue takes no contexts. The controller shuts the queue
// down when it stops, and that ends it.
func (q *controllerQueue[request]) Next(ctx context.Context) (workqueue.Work[request], error) {
	if queue, ok := q.TypedRateLimitingInterface.(interface {
		Next(context.Context) (workqueue.Work[request], error)
	}); ok {
		return queue.Next(ctx)
	}
	item, priority, shutdown := q.GetWithPriority()
	if shutdown {
		return workqueue.Work[request]{}, workqueue.ErrShutDown
	}
	return workqueue.Work[request]{Item: item, Priority: priority}, nil
}

// ShutDown shuts the queue down once. Some queues don't allow a second time: controller-runtime's
// priority queue panics.
func (q *controllerQueue[request]) ShutDown() { q.shutDown.Do(q.TypedRateLimitingInterface.ShutDown) }

// Drain of a queue that takes no contexts is a ShutDown: its workers get what's left in it, and
// then learn that there's no more. So the queue is drained when the workers have ended, and finish
// waits for them. ShutDownWithDrain would have to be ended by a ShutDown.
func (q *controllerQueue[request]) Drain(ctx context.Context) error {
	if queue, ok := q.TypedRateLimitingInterface.(interface{ Drain(context.Context) error }); ok {
		return queue.Drain(ctx)
	}
	q.ShutDown()
	return nil
}

// Wake implements reconcile.Waker, for sources.
func (q *controllerQueue[request]) Wake(ref reconcile.ObjectRef) { q.controller.Wake(ref) }

// GetLogger returns the controller's logger, without a request.
func (q *controllerQueue[request]) GetLogger() logr.Logger { return q.controller.GetLogger() }

// FlightRecorder returns the controller's recorder, and the layer of its events.
func (q *controllerQueue[request]) FlightRecorder() (recorder *trace.Recorder, layer string) {
	return q.controller.options.Recorder, q.controller.name
}
