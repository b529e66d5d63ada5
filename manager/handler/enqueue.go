package handler

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// EnqueueRequestForObject asks for the object of the event. An event without an object is a bug of
// its source: it is logged and dropped.
type EnqueueRequestForObject struct{}

// Create implements EventHandler.
func (*EnqueueRequestForObject) Create(
	_ context.Context, e event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofCreate(e))
}

// Update implements EventHandler.
func (*EnqueueRequestForObject) Update(
	_ context.Context, e event.UpdateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofUpdate(e))
}

// Delete implements EventHandler.
func (*EnqueueRequestForObject) Delete(
	_ context.Context, e event.DeleteEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofDelete(e))
}

// Generic implements EventHandler.
func (*EnqueueRequestForObject) Generic(
	_ context.Context, e event.GenericEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofGeneric(e))
}

func enqueueObject(queue requestQueue, c cause) {
	if c.object == nil {
		log.RuntimeLog.WithName("handler").Error(nil,
			"An event without an object is dropped: there is nothing to reconcile", "event",
			string(c.eventType))
		return
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c.object)}
	enqueue(queue, c.opts(""), request)
}

// enqueue adds requests, and says as much about them as the queue can take. The queue that a
// controller hands out takes all.
func enqueue(queue requestQueue, opts workqueue.AddOpts, requests ...reconcile.Request) {
	switch queue := queue.(type) {
	case priorityQueue:
		queue.AddWithOpts(opts, requests...)
	case interface {
		AddBecause(item reconcile.Request, reason string)
	}:
		reason := opts.ReasonText()
		for _, request := range requests {
			queue.AddBecause(request, reason)
		}
	default:
		for _, request := range requests {
			queue.Add(request)
		}
	}
}

// MapFunc returns the requests that an object leads to.
type MapFunc func(context.Context, client.Object) []reconcile.Request

// EnqueueRequestsFromMapFunc asks a function which requests the object of an event leads to. Of an
// update it asks about both objects, because those that the old one concerned have to hear that
// this is over. A request that is returned more than once for one event is added once.
//
// The function is never called with nil. In controller-runtime it is, for an event that lacks an
// object, which no source but a faulty one has.
func EnqueueRequestsFromMapFunc(fn MapFunc) EventHandler { return mapper(fn) }

type mapper MapFunc

func (m mapper) Create(
	ctx context.Context, e event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	m.enqueue(ctx, queue, ofCreate(e))
}

func (m mapper) Update(
	ctx context.Context, e event.UpdateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	m.enqueue(ctx, queue, ofUpdate(e))
}

func (m mapper) Delete(
	ctx context.Context, e event.DeleteEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	m.enqueue(ctx, queue, ofDelete(e))
}

func (m mapper) Generic(
	ctx context.Context, e event.GenericEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	m.enqueue(ctx, queue, ofGeneric(e))
}

// String is the handler's name in the flight recorder.
func (m mapper) String() string {
	return "EnqueueRequestsFromMapFunc(" + anyvalue.FunctionName(m) + ")"
}

func (m mapper) enqueue(ctx context.Context, queue requestQueue, c cause) {
	var before, now []reconcile.Request
	if c.older != nil {
		before = m(ctx, c.older)
	}
	if c.object != nil {
		now = m(ctx, c.object)
	}
	enqueue(queue, c.opts(", through a map function"), distinct(before, now)...)
}

// distinct is what is in either list, once, in the order of its first place. The lists stay as
// they are.
func distinct(before, now []reconcile.Request) (found []reconcile.Request) {
	seen := map[reconcile.Request]bool{}
	for _, request := range slices.Concat(before, now) {
		if !seen[request] {
			seen[request] = true
			found = append(found, request)
		}
	}
	return found
}

// EnqueueRequestsThatWaitFor adds the requests whose Reconciler has answered reconcile.WaitFor with
// the object of the event. It is for a kind that a controller waits for. The kind must be named,
// because a Go object does not always know its own.
//
// Caveats: a controller knows who waits. With a queue of another origin, nobody is woken.
func EnqueueRequestsThatWaitFor(kind schema.GroupKind) EventHandler { return waitHandler(kind) }

type waitHandler schema.GroupKind

func (w waitHandler) Create(
	_ context.Context, e event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	w.wake(queue, e.Object)
}

func (w waitHandler) Update(
	_ context.Context, e event.UpdateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	w.wake(queue, e.ObjectNew)
}

func (w waitHandler) Delete(
	_ context.Context, e event.DeleteEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	w.wake(queue, e.Object)
}

func (w waitHandler) Generic(
	_ context.Context, e event.GenericEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	w.wake(queue, e.Object)
}

// String is the handler's name in the flight recorder.
func (w waitHandler) String() string {
	return "EnqueueRequestsThatWaitFor(" + schema.GroupKind(w).String() + ")"
}

func (w waitHandler) wake(queue requestQueue, object client.Object) {
	waker, ok := queue.(reconcile.Waker)
	if !ok || event.IsNil(object) {
		return
	}
	waker.Wake(reconcile.ObjectRef{Group: w.Group, Kind: w.Kind, Namespace: object.GetNamespace(),
		Name: object.GetName()})
}
