package handler

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/internal/requestname"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Explained wraps a handler for a source. Requests from a user's own handler then also have the
// event as their reason, and the flight recorder gets each request that is added, or the fact that
// none was. The layer says who calls the handler: a source passes its controller's name.
//
// A handler's name is its String method's answer if it has one, otherwise its type. Explained
// changes no priorities. A queue without AddWithOpts, which no controller's is, gets no
// reasons, and nothing is recorded.
func Explained[object any, request comparable](
	h TypedEventHandler[object, request], recorder *trace.Recorder, layer string,
) TypedEventHandler[object, request] {
	name := anyvalue.Name(h, "handler")
	known, explainsItself := ownOf(h)
	e := explained[object, request]{
		TypedEventHandler: h, recorder: recorder, layer: layer, name: name, toKind: known.toKind,
	}
	if !explainsItself {
		e.through = ", through " + name
	} else if !recorder.On() {
		return h
	}
	return e
}

// AddsSameRequest reports whether all events of an object add the same request, so that a source
// may merge them. Only EnqueueRequestForObject does.
func AddsSameRequest(h any) bool {
	known, _ := ownOf(h)
	return known.sameRequest
}

// ownHandler describes a handler of this package. A user's type that embeds the handler also has its
// methods, and may replace some of them; goType tells the two apart.
type ownHandler struct {
	goType      reflect.Type
	sameRequest bool   // all events of an object add the same request
	toKind      string // the kind that the requests name, if it's known
}

// ownOf returns false if the handler is a user's.
func ownOf(h any) (ownHandler, bool) {
	known, ok := h.(interface{ own() ownHandler })
	if !ok || known.own().goType != reflect.TypeOf(h) {
		return ownHandler{}, false
	}
	return known.own(), true
}

type explained[object any, request comparable] struct {
	TypedEventHandler[object, request]
	recorder    *trace.Recorder
	layer, name string
	through     string // the end of a reason; empty if the handler gives reasons itself
	toKind      string // the kind that the requests name, if it isn't the controller's
}

func (e explained[object, request]) Create(
	ctx context.Context, ev event.TypedCreateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	e.handle(ofCreate(ev), queue, func(q workqueue.TypedRateLimitingInterface[request]) {
		e.TypedEventHandler.Create(ctx, ev, q)
	})
}

func (e explained[object, request]) Update(
	ctx context.Context, ev event.TypedUpdateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	e.handle(ofUpdate(ev), queue, func(q workqueue.TypedRateLimitingInterface[request]) {
		e.TypedEventHandler.Update(ctx, ev, q)
	})
}

func (e explained[object, request]) Delete(
	ctx context.Context, ev event.TypedDeleteEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	e.handle(ofDelete(ev), queue, func(q workqueue.TypedRateLimitingInterface[request]) {
		e.TypedEventHandler.Delete(ctx, ev, q)
	})
}

func (e explained[object, request]) Generic(
	ctx context.Context, ev event.TypedGenericEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	e.handle(ofGeneric(ev), queue, func(q workqueue.TypedRateLimitingInterface[request]) {
		e.TypedEventHandler.Generic(ctx, ev, q)
	})
}

// String is the name of the wrapped handler.
func (e explained[object, request]) String() string { return e.name }

func (e explained[object, request]) handle(
	c cause, queue workqueue.TypedRateLimitingInterface[request],
	call func(workqueue.TypedRateLimitingInterface[request]),
) {
	var opts workqueue.AddOpts
	if e.through != "" {
		opts = c.opts(e.through)
		opts.Priority = nil
	}
	if _, ok := queue.(priorityqueue.PriorityQueue[request]); !ok || !e.recorder.On() {
		call(newEventQueue(queue, opts, nil))
		return
	}
	entry := trace.Event{
		Kind: trace.Handler, Layer: e.layer, Op: string(c.eventType), Reason: e.name,
		Object: event.KindOf(c.object),
	}
	if c.object != nil {
		entry.Namespace, entry.Name, entry.Version = c.object.GetNamespace(), c.object.GetName(),
			c.object.GetResourceVersion()
	}
	var some atomic.Bool // the handler may keep the queue, and add from elsewhere
	call(newEventQueue(queue, opts, func(added request) {
		some.Store(true)
		entry := entry
		entry.ToNamespace, entry.ToName = requestname.Of(&added)
		entry.ToObject = e.toKind
		e.recorder.Record(entry)
	}))
	if !some.Load() {
		e.recorder.Record(entry)
	}
}

// eventQueue is the queue that users' code gets while it handles one event. Adds have the event's
// priority and reason, unless they set their own. The code may keep the queue and use it later.
type eventQueue[request comparable] struct {
	priorityqueue.PriorityQueue[request]
	opts  workqueue.AddOpts // Priority, Reason and About
	added func(request)     // nil unless somebody listens; called before the add
}

// newEventQueue returns the queue itself if it has no AddWithOpts: wrapping it
// would hide its other methods and gain nothing.
func newEventQueue[request comparable](
	queue workqueue.TypedRateLimitingInterface[request], opts workqueue.AddOpts, added func(request),
) workqueue.TypedRateLimitingInterface[request] {
	if inner, ok := queue.(priorityqueue.PriorityQueue[request]); ok {
		return &eventQueue[request]{inner, opts, added}
	}
	return queue
}

// Wake implements reconcile.Waker, for queues that do.
func (q *eventQueue[request]) Wake(ref reconcile.ObjectRef) {
	if waker, ok := q.PriorityQueue.(reconcile.Waker); ok {
		waker.Wake(ref)
	}
}

func (q *eventQueue[request]) Add(item request) { q.AddWithOpts(workqueue.AddOpts{}, item) }

func (q *eventQueue[request]) AddAfter(item request, after time.Duration) {
	q.AddWithOpts(workqueue.AddOpts{After: after}, item)
}

func (q *eventQueue[request]) AddRateLimited(item request) {
	q.AddWithOpts(workqueue.AddOpts{RateLimited: true}, item)
}

func (q *eventQueue[request]) AddWithOpts(opts workqueue.AddOpts, items ...request) {
	if opts.Priority == nil {
		opts.Priority = q.opts.Priority
	}
	if opts.Reason == "" {
		opts.Reason, opts.About = q.opts.Reason, q.opts.About
	}
	if q.added != nil {
		for _, item := range items {
			q.added(item)
		}
	}
	q.PriorityQueue.AddWithOpts(opts, items...)
}
