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
	Create(context.Context, event.CreateEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
	Update(context.Context, event.UpdateEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
	Delete(context.Context, event.DeleteEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
	Generic(context.Context, event.GenericEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
}

// LowPriority is the priority of requests that can wait, because nothing may have changed: the
// object belongs to the first list, or to a resync.
const LowPriority = workqueue.LowPriority

// clientQueue is the queue as handlers get it.
type clientQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]
