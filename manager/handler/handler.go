// Package handler turns events into requests.
//
// An event is about one object, but the request may be for another: a Pod changes, and its owner
// has to be reconciled. A handler knows which. It adds the requests to the queue, each with its
// reason: which event, of which object, through which handler. An event that changes nothing,
// because it belongs to the first list or to a resync, gets a low priority.
//
// Neighbours: below it are events, and the queue. Above it are sources, which call handlers, and
// builders, which pass them to sources.
package handler

import (
	"context"
	"reflect"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// EventHandler is the form that nearly all controllers use: its events are of any object, and its
// requests are the names of objects.
type EventHandler = TypedEventHandler[client.Object, reconcile.Request]

// TypedEventHandler adds requests to a queue in response to events.
//
//   - EnqueueRequestForObject enqueues the object of the event. Use it for the kind that a
//     controller reconciles.
//   - EnqueueRequestForOwner enqueues the owners of the object. Use it for the kinds that a
//     controller creates.
//   - EnqueueRequestsFromMapFunc enqueues whatever a function of yours returns. Use it for the
//     kinds that a controller reads.
//   - EnqueueRequestsThatWaitFor enqueues the requests whose Reconciler waits for the object, and
//     has said so with reconcile.WaitFor.
//   - Funcs is for everything else.
//
// The methods are called on the goroutine that delivers the events, so they must not block. They
// must not change the objects either, because others share them. The context ends when the source
// does, or sooner.
type TypedEventHandler[object any, request comparable] interface {
	Create(context.Context, event.TypedCreateEvent[object],
		workqueue.TypedRateLimitingInterface[request])
	Update(context.Context, event.TypedUpdateEvent[object],
		workqueue.TypedRateLimitingInterface[request])
	Delete(context.Context, event.TypedDeleteEvent[object],
		workqueue.TypedRateLimitingInterface[request])
	Generic(context.Context, event.TypedGenericEvent[object],
		workqueue.TypedRateLimitingInterface[request])
}

// LowPriority is the priority of requests that can wait, because nothing may have changed: the
// object belongs to the first list, or to a resync.
const LowPriority = workqueue.LowPriority

// Funcs is a TypedFuncs of any object, for requests that are the names of objects.
type Funcs = TypedFuncs[client.Object, reconcile.Request]

// TypedFuncs is a TypedEventHandler made of functions. An event without a function is dropped.
//
// A function gets a queue that knows the event: its adds have the event as their reason, and a low
// priority if nothing may have changed. If you set a priority or a reason with AddWithOpts, yours
// counts.
type TypedFuncs[object any, request comparable] struct {
	CreateFunc func(context.Context, event.TypedCreateEvent[object],
		workqueue.TypedRateLimitingInterface[request])
	UpdateFunc func(context.Context, event.TypedUpdateEvent[object],
		workqueue.TypedRateLimitingInterface[request])
	DeleteFunc func(context.Context, event.TypedDeleteEvent[object],
		workqueue.TypedRateLimitingInterface[request])
	GenericFunc func(context.Context, event.TypedGenericEvent[object],
		workqueue.TypedRateLimitingInterface[request])
}

const throughFunc = ", through a handler function"

// Create implements TypedEventHandler.
func (f TypedFuncs[object, request]) Create(
	ctx context.Context, e event.TypedCreateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	if f.CreateFunc != nil {
		f.CreateFunc(ctx, e, newEventQueue(queue, ofCreate(e).opts(throughFunc), nil))
	}
}

// Update implements TypedEventHandler.
func (f TypedFuncs[object, request]) Update(
	ctx context.Context, e event.TypedUpdateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	if f.UpdateFunc != nil {
		f.UpdateFunc(ctx, e, newEventQueue(queue, ofUpdate(e).opts(throughFunc), nil))
	}
}

// Delete implements TypedEventHandler.
func (f TypedFuncs[object, request]) Delete(
	ctx context.Context, e event.TypedDeleteEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	if f.DeleteFunc != nil {
		f.DeleteFunc(ctx, e, newEventQueue(queue, ofDelete(e).opts(throughFunc), nil))
	}
}

// Generic implements TypedEventHandler.
func (f TypedFuncs[object, request]) Generic(
	ctx context.Context, e event.TypedGenericEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	if f.GenericFunc != nil {
		f.GenericFunc(ctx, e, newEventQueue(queue, ofGeneric(e).opts(throughFunc), nil))
	}
}

func (TypedFuncs[object, request]) own() ownHandler {
	return ownHandler{goType: reflect.TypeFor[TypedFuncs[object, request]]()}
}

// WithLowPriorityWhenUnchanged gives the requests of your own handler a low priority if they come
// from the first list or from a resync. The handlers of this package do so anyway, including
// TypedFuncs.
func WithLowPriorityWhenUnchanged[object client.Object, request comparable](
	h TypedEventHandler[object, request],
) TypedEventHandler[object, request] {
	return TypedFuncs[object, request]{
		CreateFunc: h.Create, UpdateFunc: h.Update, DeleteFunc: h.Delete, GenericFunc: h.Generic,
	}
}
