// Package handler turns events into requests.
//
// An event is about one object, and a request may be for another: a Pod changes, and its owner
// needs a look. A handler knows which. It adds the requests to the queue, and with each of them
// the reason: which event, of which object, through which handler. An event that changes nothing,
// because it belongs to the first list or to a resync, has a low priority.
//
// Neighbours: below it are events, and the queue. Above it are sources, which call handlers, and
// builders, which hand them to sources.
package handler

import (
	"context"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// EventHandler adds requests to a queue, in response to events.
//
//   - EnqueueRequestForObject asks for the object of the event. It is for the kind that a
//     controller reconciles.
//   - EnqueueRequestForOwner asks for the owners of the object. It is for the kinds that a
//     controller creates.
//   - EnqueueRequestsFromMapFunc asks a function. It is for the kinds that a controller reads.
//   - EnqueueRequestsThatWaitFor asks for those whose Reconciler waits for the object, and said so
//     with reconcile.WaitFor.
//   - Funcs is for what is none of these.
//
// The methods are called from the goroutine that brings the events, so they must not wait for
// anything, and they must not change the objects, which others share. The context ends when the
// source does, or sooner.
type EventHandler interface {
	Create(context.Context, event.CreateEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
	Update(context.Context, event.UpdateEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
	Delete(context.Context, event.DeleteEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
	Generic(context.Context, event.GenericEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
}

// LowPriority is the priority of requests that can wait, because nothing may have changed: the
// object belongs to the first list, or to a resync.
const LowPriority = workqueue.LowPriority

// requestQueue is the queue that handlers are given.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// priorityQueue is a requestQueue that also takes priorities and reasons.
type priorityQueue = priorityqueue.PriorityQueue[reconcile.Request]

// Funcs is an EventHandler of functions. An event without a function is dropped.
//
// A function gets a queue that knows the event: what it adds has the event as its reason, and a
// low priority if nothing may have changed. An add that gives a priority or a reason itself, with
// AddWithOpts, keeps it.
type Funcs struct {
	CreateFunc func(context.Context, event.CreateEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
	UpdateFunc func(context.Context, event.UpdateEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
	DeleteFunc func(context.Context, event.DeleteEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
	GenericFunc func(context.Context, event.GenericEvent,
		workqueue.TypedRateLimitingInterface[reconcile.Request])
}

const throughFunc = ", through a handler function"

// Create implements EventHandler.
func (f Funcs) Create(
	ctx context.Context, e event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if f.CreateFunc != nil {
		f.CreateFunc(ctx, e, newEventQueue(queue, ofCreate(e).opts(throughFunc), nil))
	}
}

// Update implements EventHandler.
func (f Funcs) Update(
	ctx context.Context, e event.UpdateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if f.UpdateFunc != nil {
		f.UpdateFunc(ctx, e, newEventQueue(queue, ofUpdate(e).opts(throughFunc), nil))
	}
}

// Delete implements EventHandler.
func (f Funcs) Delete(
	ctx context.Context, e event.DeleteEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if f.DeleteFunc != nil {
		f.DeleteFunc(ctx, e, newEventQueue(queue, ofDelete(e).opts(throughFunc), nil))
	}
}

// Generic implements EventHandler.
func (f Funcs) Generic(
	ctx context.Context, e event.GenericEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if f.GenericFunc != nil {
		f.GenericFunc(ctx, e, newEventQueue(queue, ofGeneric(e).opts(throughFunc), nil))
	}
}

// WithLowPriorityWhenUnchanged gives the requests of a user's own handler a low priority if they
// come from the first list or from a resync. The handlers of this package do it anyway, and so
// does Funcs.
//
// In controller-runtime it has two type parameters, and users' programs may write
// WithLowPriorityWhenUnchanged[client.Object, reconcile.Request](h). The parameters do nothing
// here. Programs that leave them out compile, too: the compiler finds them through the two
// interfaces below.
func WithLowPriorityWhenUnchanged[object client.Object, request comparable,
	create createOf[object]](h handlerOf[create, request]) EventHandler {
	// create can only be event.CreateEvent, which the compiler does not know
	handler := any(h).(EventHandler)
	return Funcs{
		CreateFunc: handler.Create, UpdateFunc: handler.Update, DeleteFunc: handler.Delete,
		GenericFunc: handler.Generic,
	}
}

// handlerOf is EventHandler. Two of its types are parameters, so that the compiler can find them
// out.
type handlerOf[create any, request comparable] interface {
	Create(context.Context, create, workqueue.TypedRateLimitingInterface[request])
	Update(context.Context, event.UpdateEvent, workqueue.TypedRateLimitingInterface[request])
	Delete(context.Context, event.DeleteEvent, workqueue.TypedRateLimitingInterface[request])
	Generic(context.Context, event.GenericEvent, workqueue.TypedRateLimitingInterface[request])
}

// createOf is the fields of event.CreateEvent. The type of its object is a parameter, for the same
// reason.
type createOf[object any] interface {
	~struct {
		Object          object
		IsInInitialList bool
	}
}
