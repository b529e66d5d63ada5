package handler

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Explained is how a source uses a handler. With it, requests of a user's own handler have the
// event as their reason, too, and the flight recorder gets each request that is added, or that
// none was. The layer says who calls the handler: a source gives its controller's name.
//
// A handler is called by its String method if it has one, otherwise by its type. It changes no
// priorities. A queue without priorities takes no reasons, and nothing is recorded then.
func Explained(h EventHandler, recorder *trace.Recorder, layer string) EventHandler {
	name := anyvalue.Name(h, "handler")
	e := explained{EventHandler: h, recorder: recorder, layer: layer, name: name}
	switch h.(type) {
	case *EnqueueRequestForObject, *ownerHandler, mapper, Funcs: // they explain themselves
		if !recorder.On() {
			return h
		}
	default:
		e.through = ", through " + name
	}
	return e
}

type explained struct {
	EventHandler
	recorder    *trace.Recorder
	layer, name string
	through     string // the end of a reason; empty if the handler gives reasons itself
}

func (e explained) Create(
	ctx context.Context, ev event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	e.handle(ofCreate(ev), queue, func(q requestQueue) { e.EventHandler.Create(ctx, ev, q) })
}

func (e explained) Update(
	ctx context.Context, ev event.UpdateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	e.handle(ofUpdate(ev), queue, func(q requestQueue) { e.EventHandler.Update(ctx, ev, q) })
}

func (e explained) Delete(
	ctx context.Context, ev event.DeleteEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	e.handle(ofDelete(ev), queue, func(q requestQueue) { e.EventHandler.Delete(ctx, ev, q) })
}

func (e explained) Generic(
	ctx context.Context, ev event.GenericEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	e.handle(ofGeneric(ev), queue, func(q requestQueue) { e.EventHandler.Generic(ctx, ev, q) })
}

// String is the name of the handler inside.
func (e explained) String() string { return e.name }

func (e explained) handle(c cause, queue requestQueue, call func(requestQueue)) {
	var opts workqueue.AddOpts
	if e.through != "" {
		opts = c.opts(e.through)
		opts.Priority = nil
	}
	if _, ok := queue.(priorityQueue); !ok || !e.recorder.On() {
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
	call(newEventQueue(queue, opts, func(request reconcile.Request) {
		some.Store(true)
		entry := entry
		entry.ToNamespace, entry.ToName = request.Namespace, request.Name
		if owner, ok := e.EventHandler.(*ownerHandler); ok {
			entry.ToObject = owner.owner.Kind
		}
		e.recorder.Record(entry)
	}))
	if !some.Load() {
		e.recorder.Record(entry)
	}
}

// eventQueue is the queue that users' code gets while it handles one event. Where an add does not
// say otherwise, it has the event's priority and reason. It may be kept and used later.
type eventQueue struct {
	priorityQueue
	opts  workqueue.AddOpts       // Priority, Reason and About
	added func(reconcile.Request) // nil unless somebody wants to know; called before the add
}

// newEventQueue returns the queue itself if it knows no priorities: it would lose what more it
// can do, and gain nothing.
func newEventQueue(
	queue requestQueue, opts workqueue.AddOpts, added func(reconcile.Request),
) requestQueue {
	if inner, ok := queue.(priorityQueue); ok {
		return &eventQueue{inner, opts, added}
	}
	return queue
}

// Wake implements reconcile.Waker, for queues that do.
func (q *eventQueue) Wake(ref reconcile.ObjectRef) {
	if waker, ok := q.priorityQueue.(reconcile.Waker); ok {
		waker.Wake(ref)
	}
}

func (q *eventQueue) Add(request reconcile.Request) { q.AddWithOpts(workqueue.AddOpts{}, request) }

func (q *eventQueue) AddAfter(request reconcile.Request, after time.Duration) {
	q.AddWithOpts(workqueue.AddOpts{After: after}, request)
}

func (q *eventQueue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(workqueue.AddOpts{RateLimited: true}, request)
}

func (q *eventQueue) AddWithOpts(opts workqueue.AddOpts, requests ...reconcile.Request) {
	if opts.Priority == nil {
		opts.Priority = q.opts.Priority
	}
	if opts.Reason == "" {
		opts.Reason, opts.About = q.opts.Reason, q.opts.About
	}
	if q.added != nil {
		for _, request := range requests {
			q.added(request)
		}
	}
	q.priorityQueue.AddWithOpts(opts, requests...)
}
