package handler

import (
	"context"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Funcs is an EventHandler of functions. An event without a function is dropped.
//
// A function gets a queue that knows the event: what it adds has the event as its reason, and a
// low priority if nothing may have changed. An add that gives a priority or a reason itself, with
// AddWithOpts, keeps it.
type Funcs struct {
	CreateFunc  func(context.Context, event.CreateEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
	UpdateFunc  func(context.Context, event.UpdateEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
	DeleteFunc  func(context.Context, event.DeleteEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
	GenericFunc func(context.Context, event.GenericEvent, workqueue.TypedRateLimitingInterface[reconcile.Request])
}

var funcPhrases = phrases{through: ", through a handler function"}

// Create implements EventHandler.
func (f Funcs) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if f.CreateFunc != nil {
		f.CreateFunc(ctx, e, newEventQueue(queue, funcPhrases.opts(ofCreate(e)), nil))
	}
}

// Update implements EventHandler.
func (f Funcs) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if f.UpdateFunc != nil {
		f.UpdateFunc(ctx, e, newEventQueue(queue, funcPhrases.opts(ofUpdate(e)), nil))
	}
}

// Delete implements EventHandler.
func (f Funcs) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if f.DeleteFunc != nil {
		f.DeleteFunc(ctx, e, newEventQueue(queue, funcPhrases.opts(ofDelete(e)), nil))
	}
}

// Generic implements EventHandler.
func (f Funcs) Generic(ctx context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	if f.GenericFunc != nil {
		f.GenericFunc(ctx, e, newEventQueue(queue, funcPhrases.opts(ofGeneric(e)), nil))
	}
}

// WithLowPriorityWhenUnchanged gives the requests of a user's own handler a low priority if they
// come from the first list or from a resync. The handlers of this package do it anyway, and so
// does Funcs.
//
// It has type parameters because it has them in controller-runtime: programs that write
// WithLowPriorityWhenUnchanged[client.Object, reconcile.Request](h) have to compile. Without the
// arguments, the compiler finds them in the types of Create's parameters.
func WithLowPriorityWhenUnchanged[object client.Object, request comparable, create createOf[object]](h handlerOf[create, request]) EventHandler {
	handler := any(h).(EventHandler) // it has these methods; only the compiler does not see it
	return Funcs{CreateFunc: handler.Create, UpdateFunc: handler.Update, DeleteFunc: handler.Delete, GenericFunc: handler.Generic}
}

// handlerOf is EventHandler, with names for the types of Create's parameters.
type handlerOf[create any, request comparable] interface {
	Create(context.Context, create, workqueue.TypedRateLimitingInterface[request])
	Update(context.Context, event.UpdateEvent, workqueue.TypedRateLimitingInterface[request])
	Delete(context.Context, event.DeleteEvent, workqueue.TypedRateLimitingInterface[request])
	Generic(context.Context, event.GenericEvent, workqueue.TypedRateLimitingInterface[request])
}

// createOf is CreateEvent, with a name for the type of its object.
type createOf[object any] interface {
	~struct {
		Object          object
		IsInInitialList bool
	}
}
