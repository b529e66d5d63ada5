// Package source is where requests come from: what happens to objects of the cluster, or anywhere
// else, becomes events, and predicates and a handler make requests of them.
//
// The path of an event:
//
//	informer or channel -> source -> predicates -> handler -> the controller's queue
//
// [Kind] follows the objects of a kind, [Channel] what comes out of a Go channel. [Informer] is for
// an informer that the caller has, and [Func] for everything else.
//
// Guarantees: predicates and handler are called from one goroutine of a source at a time. The
// predicates are asked in order, until one says no. When WaitForSync returns nil, the handler has
// returned from the last event of the initial list, so that the requests are in the queue. When
// WaitForStop returns, the handler is not called any more, and no goroutine is left. A source may
// be watched by several controllers; each gets every event. It may be watched again after it has
// ended.
//
// Every state that the cache has shown is told, because a reconciler may have acted on it: of an
// object that gets another owner, and then another, all three hear. There is one exception: with
// [handler.EnqueueRequestForObject] and no predicates, what waits for the handler is merged. The
// request is the same; only its reasons and its priority can differ. An object of the first list
// that changes before the handler hears of it is one Create with IsInInitialList, so its request
// keeps the low priority and the reason "first listing".
//
// Caveats: objects are shared with the cache: copy before changing. States that the cache has not
// shown may be missed, while a watch is interrupted, for instance. A panic of a predicate or a
// handler ends the process. The context that a handler gets ends with the source; in
// controller-runtime it ends when the handler returns.
//
// Neighbours: below it are the informers that a cache hands out, and packages event, predicate and
// handler. Above it is the controller, which starts sources and gives them its queue.
package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Source adds requests to a controller's queue.
type Source = controller.Source

// SyncingSource is a Source that has to list before the controller's workers may begin.
type SyncingSource = controller.SyncingSource

// queue is what a source and a handler are given.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Func is a function that is a Source. A controller cannot Unwatch it, because functions cannot be
// compared.
type Func func(ctx context.Context,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error

// Start implements Source.
func (f Func) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) error {
	return f(ctx, queue)
}

// String is what the source is called in messages.
func (f Func) String() string { return fmt.Sprintf("func source: %p", f) }

// delivery brings events through the predicates to the handler. The flight recorder learns which
// predicate dropped one, and which requests the handler made of the others.
type delivery struct {
	to     handler.EventHandler
	passes predicate.Predicate
	queue  queue
	layer  string // the controller's name; empty if the queue is not a controller's
	byKey  bool   // nothing but the key of an object has a say in what is added
}

var errNilPredicate = errors.New("one of the source's predicates is nil")

func newDelivery(q queue, to handler.EventHandler, predicates []predicate.Predicate) *delivery {
	_, isObject := to.(*handler.EnqueueRequestForObject)
	d := &delivery{queue: q, byKey: isObject && len(predicates) == 0}
	var recorder *trace.Recorder
	if known, ok := q.(interface {
		FlightRecorder() (recorder *trace.Recorder, layer string)
	}); ok {
		recorder, d.layer = known.FlightRecorder()
	}
	d.passes = predicate.Recorded(recorder, d.layer, predicates...)
	d.to = handler.Explained(to, recorder, d.layer)
	return d
}

// log returns the controller's logger; the program's if the queue is not a controller's.
func (d *delivery) log() logr.Logger {
	if known, ok := d.queue.(interface{ GetLogger() logr.Logger }); ok {
		return known.GetLogger()
	}
	return log.RuntimeLog.WithName("source")
}

// handler is what an informer calls. The context is that of the source.
func (d *delivery) handler(ctx context.Context) informer.ResourceEventHandler {
	return informer.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { d.add(ctx, obj, initial) },
		UpdateFunc: func(old, obj any) { d.update(ctx, old, obj) },
		DeleteFunc: func(obj any) { d.delete(ctx, obj) },
	}
}

func (d *delivery) add(ctx context.Context, obj any, initial bool) {
	if object, ok := d.objectOf(obj, "create"); ok {
		e := event.CreateEvent{Object: object, IsInInitialList: initial}
		if d.passes.Create(e) {
			d.to.Create(ctx, e, d.queue)
		}
	}
}

func (d *delivery) update(ctx context.Context, was, is any) {
	old, oldOK := d.objectOf(was, "update")
	object, ok := d.objectOf(is, "update")
	if oldOK && ok {
		e := event.UpdateEvent{ObjectOld: old, ObjectNew: object}
		if d.passes.Update(e) {
			d.to.Update(ctx, e, d.queue)
		}
	}
}

func (d *delivery) delete(ctx context.Context, obj any) {
	unseen, unknown := obj.(informer.DeletedFinalStateUnknown)
	if unknown {
		obj = unseen.Obj
	}
	if object, ok := d.objectOf(obj, "delete"); ok {
		e := event.DeleteEvent{Object: object, DeleteStateUnknown: unknown}
		if d.passes.Delete(e) {
			d.to.Delete(ctx, e, d.queue)
		}
	}
}

// generic may get an event without an object: that is up to the sender and the handler.
func (d *delivery) generic(ctx context.Context, e event.GenericEvent) {
	if d.passes.Generic(e) {
		d.to.Generic(ctx, e, d.queue)
	}
}

// objectOf returns false, and logs that, if something came that is no object. A cache of somebody
// else's making may hand anything out, and that is no reason to crash.
func (d *delivery) objectOf(value any, operation string) (client.Object, bool) {
	object, ok := value.(client.Object)
	if ok && !event.IsNil(object) {
		return object, true
	}
	d.log().Error(nil, "An event is dropped because it is not about an object", "event", operation,
		"type", fmt.Sprintf("%T", value))
	return nil, false
}
