package handler

import (
	"context"
	"sync/atomic"

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
		e.phrases = &phrases{through: ", through " + name}
	}
	return e
}

type explained struct {
	EventHandler
	recorder    *trace.Recorder
	layer, name string
	phrases     *phrases // nil if the handler gives reasons itself
}

func (e explained) Create(ctx context.Context, ev event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	e.handle(ofCreate(ev), queue, func(queue clientQueue) { e.EventHandler.Create(ctx, ev, queue) })
}

func (e explained) Update(ctx context.Context, ev event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	e.handle(ofUpdate(ev), queue, func(queue clientQueue) { e.EventHandler.Update(ctx, ev, queue) })
}

func (e explained) Delete(ctx context.Context, ev event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	e.handle(ofDelete(ev), queue, func(queue clientQueue) { e.EventHandler.Delete(ctx, ev, queue) })
}

func (e explained) Generic(ctx context.Context, ev event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	e.handle(ofGeneric(ev), queue, func(queue clientQueue) { e.EventHandler.Generic(ctx, ev, queue) })
}

// String is the name of the handler inside.
func (e explained) String() string { return e.name }

func (e explained) handle(o occurrence, queue clientQueue, call func(clientQueue)) {
	var opts workqueue.AddOpts
	if e.phrases != nil {
		opts = e.phrases.opts(o)
		opts.Priority = nil
	}
	if _, ok := queue.(priorityQueue); !ok || !e.recorder.On() {
		call(newEventQueue(queue, opts, nil))
		return
	}
	entry := trace.Event{Kind: trace.Handler, Layer: e.layer, Op: whatNames[o.what], Reason: e.name, Object: event.KindOf(o.object)}
	if o.object != nil {
		entry.Namespace, entry.Name, entry.Version = o.object.GetNamespace(), o.object.GetName(), o.object.GetResourceVersion()
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
