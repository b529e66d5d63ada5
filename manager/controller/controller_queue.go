package controller

import (
	"context"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
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
	return adaptedQueue{queue}
}

// adaptedQueue adds to a queue what it lacks, as well as one can from outside. What it has
// itself, it does itself.
type adaptedQueue struct{ clientQueue }

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
		switch {
		case o.RateLimited && explained != nil:
			explained.AddRateLimitedBecause(item, o.Reason)
		case o.RateLimited:
			q.AddRateLimited(item)
		case o.After > 0:
			q.AddAfter(item, o.After)
		case explained != nil:
			explained.AddBecause(item, o.Reason)
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

// Drain ends a drain that takes too long by a ShutDown, which client-go documents as the way.
func (q adaptedQueue) Drain(ctx context.Context) error {
	if queue, ok := q.clientQueue.(interface{ Drain(context.Context) error }); ok {
		return queue.Drain(ctx)
	}
	drained := make(chan struct{}) // closed by the goroutine below
	go func() {
		defer close(drained)
		q.ShutDownWithDrain()
	}()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		q.ShutDown()
		<-drained
		return context.Cause(ctx)
	}
}

// sourceQueue is what a source is given: the queue, and with it a way to wake requests that wait
// for another object.
type sourceQueue struct {
	requestQueue
	reconcile.Waker
}
