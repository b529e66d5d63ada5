// Package source is where a controller's requests come from. A source turns changes of objects in
// the cluster, or of anything else, into events; predicates and a handler turn these into requests.
//
// The path of an event:
//
//	informer or channel -> source -> predicates -> handler -> the controller's queue
//
// [Kind] follows the objects of a kind, and [Channel] receives from a Go channel. [Informer] is for
// an informer that you already have, and [Func] for everything else.
//
// Guarantees: each source calls its predicates and handler from one goroutine at a time. The
// predicates are called in order, until one says no. When WaitForSync returns nil, the handler has
// returned from the last event of the initial list, so the requests are in the queue. When
// WaitForStop returns, the handler is no longer called, and no goroutine is left. Several
// controllers may watch a source; each gets every event. A source may be watched again after it has
// ended.
//
// The handler gets every state that the cache has shown, because a reconciler may have acted on it:
// if an object changes its owner twice, all three owners hear of it. There's one exception. With
// [handler.EnqueueRequestForObject] and no predicates, events that wait for the handler are merged.
// The request is the same; only its reasons and its priority can differ. An object of the first
// list that changes before the handler hears of it is one Create with IsInInitialList, so its
// request keeps the low priority and the reason "first listing".
//
// Caveats: objects are shared with the cache: copy before changing. The source may miss states that
// the cache hasn't shown, for instance while a watch is interrupted. A panic in a predicate or a
// handler crashes the process. The context that a handler gets ends with the source; in
// controller-runtime it ends when the handler returns.
//
// Neighbours: below it are a cache's informers, packages event, predicate and handler, and the
// controller, which starts sources and gives them its queue. Above it is the builder.
package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Source is a TypedSource for requests that are the names of objects.
type Source = TypedSource[reconcile.Request]

// TypedSource adds requests to a controller's queue.
type TypedSource[request comparable] = controller.TypedSource[request]

// SyncingSource is a TypedSyncingSource for requests that are the names of objects.
type SyncingSource = TypedSyncingSource[reconcile.Request]

// TypedSyncingSource is a TypedSource that has to list before the controller's workers may start.
type TypedSyncingSource[request comparable] = controller.TypedSyncingSource[request]

// Func is a TypedFunc for requests that are the names of objects.
type Func = TypedFunc[reconcile.Request]

// TypedFunc is a function that is a TypedSource. A controller can't Unwatch it, because functions
// can't be compared.
type TypedFunc[request comparable] func(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error

// Start implements TypedSource.
func (f TypedFunc[request]) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error {
	return f(ctx, queue)
}

// String is the source's name in messages.
func (f TypedFunc[request]) String() string { return fmt.Sprintf("func source: %p", f) }

// pipeline passes events through the predicates to the handler. The flight recorder learns which
// predicate dropped an event, and which requests the handler made of the others.
type pipeline[object any, request comparable] struct {
	to     handler.TypedEventHandler[object, request]
	passes predicate.TypedPredicate[object]
	queue  workqueue.TypedRateLimitingInterface[request]
	layer  string // the controller's name; empty if the queue isn't a controller's
	merges bool   // each event of an object adds the same request, so the informer may merge them
}

var errNilPredicate = errors.New("one of the source's predicates is nil")

func newPipeline[object any, request comparable](
	queue workqueue.TypedRateLimitingInterface[request],
	to handler.TypedEventHandler[object, request], predicates []predicate.TypedPredicate[object],
) *pipeline[object, request] {
	p := &pipeline[object, request]{
		queue: queue, merges: handler.AddsSameRequest(to) && len(predicates) == 0,
	}
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

// log returns the controller's logger; the program's if the queue isn't a controller's.
func (p *pipeline[object, request]) log() logr.Logger {
	if known, ok := p.queue.(interface{ GetLogger() logr.Logger }); ok {
		return known.GetLogger()
	}
	return log.RuntimeLog.WithName("source")
}

// informerHandler is the handler that an informer calls.
type informerHandler[object any, request comparable] struct {
	ctx context.Context // the source's: an informer has none for its handlers
	*pipeline[object, request]
}

func (h informerHandler[object, request]) OnAdd(obj any, initial bool) {
	if created, ok := h.objectOf(obj, "create"); ok {
		e := event.TypedCreateEvent[object]{Object: created, IsInInitialList: initial}
		if h.passes.Create(e) {
			h.to.Create(h.ctx, e, h.queue)
		}
	}
}

func (h informerHandler[object, request]) OnUpdate(was, is any) {
	old, oldOK := h.objectOf(was, "update")
	updated, ok := h.objectOf(is, "update")
	if oldOK && ok {
		e := event.TypedUpdateEvent[object]{ObjectOld: old, ObjectNew: updated}
		if h.passes.Update(e) {
			h.to.Update(h.ctx, e, h.queue)
		}
	}
}

func (h informerHandler[object, request]) OnDelete(obj any) {
	unseen, unknown := obj.(informer.DeletedFinalStateUnknown)
	if unknown {
		obj = unseen.Obj
	}
	if deleted, ok := h.objectOf(obj, "delete"); ok {
		e := event.TypedDeleteEvent[object]{Object: deleted, DeleteStateUnknown: unknown}
		if h.passes.Delete(e) {
			h.to.Delete(h.ctx, e, h.queue)
		}
	}
}

// generic may get an event without an object: that's up to the sender and the handler.
func (p *pipeline[object, request]) generic(
	ctx context.Context, e event.TypedGenericEvent[object],
) {
	if p.passes.Generic(e) {
		p.to.Generic(ctx, e, p.queue)
	}
}

// objectOf logs and returns false if the value isn't an object, or has another type. A cache that
// somebody else wrote may return anything, and that's no reason to crash.
func (p *pipeline[object, request]) objectOf(value any, operation string) (object, bool) {
	obj, ok := value.(object)
	if ok && !event.IsNil(obj) {
		return obj, true
	}
	p.log().Error(nil, "An event is dropped because it is not about an object", "event", operation,
		"type", fmt.Sprintf("%T", value), "wanted", reflect.TypeFor[object]().String())
	return obj, false
}
