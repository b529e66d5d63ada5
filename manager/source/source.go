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

// requestQueue is the queue that a source and a handler are given.
type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

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

// pipeline brings events through the predicates to the handler. The flight recorder learns which
// predicate dropped one, and which requests the handler made of the others.
type pipeline struct {
	to     handler.EventHandler
	passes predicate.Predicate
	queue  requestQueue
	layer  string // the controller's name; empty if the queue is not a controller's
	byKey  bool   // each event of an object adds the same request, so they may be merged
}

var errNilPredicate = errors.New("one of the source's predicates is nil")

func newPipeline(
	queue requestQueue, to handler.EventHandler, predicates []predicate.Predicate,
) *pipeline {
	_, isObject := to.(*handler.EnqueueRequestForObject)
	p := &pipeline{queue: queue, byKey: isObject && len(predicates) == 0}
	var recorder *trace.Recorder
	if known, ok := queue.(interface {
		FlightRecorder() (recorder *trace.Recorder, layer string)
	}); ok {
		recorder, p.layer = known.FlightRecorder()
	}
	p.passes = predicate.Recorded(recorder, p.layer, predicates...)
	p.to = handler.Explained(to, recorder, p.layer)
	return p
}

// log returns the controller's logger; the program's if the queue is not a controller's.
func (p *pipeline) log() logr.Logger {
	if known, ok := p.queue.(interface{ GetLogger() logr.Logger }); ok {
		return known.GetLogger()
	}
	return log.RuntimeLog.WithName("source")
}

// informerHandler is what an informer calls.
type informerHandler struct {
	ctx context.Context // the source's: an informer has none for its handlers
	*pipeline
}

func (h informerHandler) OnAdd(obj any, initial bool) {
	if object, ok := h.objectOf(obj, "create"); ok {
		e := event.CreateEvent{Object: object, IsInInitialList: initial}
		if h.passes.Create(e) {
			h.to.Create(h.ctx, e, h.queue)
		}
	}
}

func (h informerHandler) OnUpdate(was, is any) {
	old, oldOK := h.objectOf(was, "update")
	object, ok := h.objectOf(is, "update")
	if oldOK && ok {
		e := event.UpdateEvent{ObjectOld: old, ObjectNew: object}
		if h.passes.Update(e) {
			h.to.Update(h.ctx, e, h.queue)
		}
	}
}

func (h informerHandler) OnDelete(obj any) {
	unseen, unknown := obj.(informer.DeletedFinalStateUnknown)
	if unknown {
		obj = unseen.Obj
	}
	if object, ok := h.objectOf(obj, "delete"); ok {
		e := event.DeleteEvent{Object: object, DeleteStateUnknown: unknown}
		if h.passes.Delete(e) {
			h.to.Delete(h.ctx, e, h.queue)
		}
	}
}

// generic may get an event without an object: that is up to the sender and the handler.
func (p *pipeline) generic(ctx context.Context, e event.GenericEvent) {
	if p.passes.Generic(e) {
		p.to.Generic(ctx, e, p.queue)
	}
}

// objectOf returns false, and logs that, if something came that is no object. A cache of somebody
// else's making may hand anything out, and that is no reason to crash.
func (p *pipeline) objectOf(value any, operation string) (client.Object, bool) {
	object, ok := value.(client.Object)
	if ok && !event.IsNil(object) {
		return object, true
	}
	p.log().Error(nil, "An event is dropped because it is not about an object", "event", operation,
		"type", fmt.Sprintf("%T", value))
	return nil, false
}
