package handler

import (
	"context"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// EnqueueRequestForObject asks for the object of the event. An event without an object is a bug of
// its source: it is logged and dropped.
type EnqueueRequestForObject struct{}

// Create implements EventHandler.
func (*EnqueueRequestForObject) Create(_ context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	enqueueObject(queue, ofCreate(e))
}

// Update implements EventHandler.
func (*EnqueueRequestForObject) Update(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	enqueueObject(queue, ofUpdate(e))
}

// Delete implements EventHandler.
func (*EnqueueRequestForObject) Delete(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	enqueueObject(queue, ofDelete(e))
}

// Generic implements EventHandler.
func (*EnqueueRequestForObject) Generic(_ context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	enqueueObject(queue, ofGeneric(e))
}

var objectPhrases = phrases{}

func enqueueObject(queue clientQueue, o occurrence) {
	if o.object == nil {
		log.RuntimeLog.WithName("handler").Error(nil, "An event without an object is dropped: there is nothing to reconcile", "event", whatNames[o.what])
		return
	}
	enqueue(queue, objectPhrases.opts(o), requestFor(o.object))
}

func requestFor(obj client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(obj)}
}
