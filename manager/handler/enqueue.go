package handler

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// EnqueueRequestForObject is a TypedEnqueueRequestForObject for any object.
type EnqueueRequestForObject = TypedEnqueueRequestForObject[client.Object]

// TypedEnqueueRequestForObject enqueues the object of the event. An event without an object is a
// bug in its source; it's logged and dropped.
type TypedEnqueueRequestForObject[object client.Object] struct{}

// Create implements TypedEventHandler.
func (*TypedEnqueueRequestForObject[object]) Create(
	_ context.Context, e event.TypedCreateEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofCreate(e))
}

// Update implements TypedEventHandler.
func (*TypedEnqueueRequestForObject[object]) Update(
	_ context.Context, e event.TypedUpdateEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofUpdate(e))
}

// Delete implements TypedEventHandler.
func (*TypedEnqueueRequestForObject[object]) Delete(
	_ context.Context, e event.TypedDeleteEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofDelete(e))
}

// Generic implements TypedEventHandler.
func (*TypedEnqueueRequestForObject[object]) Generic(
	_ context.Context, e event.TypedGenericEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	enqueueObject(queue, ofGeneric(e))
}

func (*TypedEnqueueRequestForObject[object]) own() ownHandler {
	return ownHandler{goType: reflect.TypeFor[*TypedEnqueueRequestForObject[object]](), sameRequest: true}
}

func enqueueObject(
	queue workqueue.TypedRateLimitingInterface[reconcile.Request], c cause,
) {
	if c.object == nil {
		log.RuntimeLog.WithName("handler").Error(nil,
			"An event without an object is dropped: there is nothing to reconcile", "event",
			string(c.eventType))
		return
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c.object)}
	enqueue(queue, c.opts(""), request)
}

// enqueue adds requests with as much information about them as the queue takes. A controller's
// queue takes everything.
func enqueue[request comparable](
	queue workqueue.TypedRateLimitingInterface[request], opts workqueue.AddOpts,
	requests ...request,
) {
	switch queue := queue.(type) {
	case priorityqueue.PriorityQueue[request]:
		queue.AddWithOpts(opts, requests...)
	case interface {
		AddBecause(item request, reason string)
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

// MapFunc is a TypedMapFunc from any object to the names of objects.
type MapFunc = TypedMapFunc[client.Object, reconcile.Request]

// TypedMapFunc returns the requests that an object leads to.
type TypedMapFunc[object any, request comparable] func(context.Context, object) []request

// EnqueueRequestsFromMapFunc is TypedEnqueueRequestsFromMapFunc from any object to the names of
// objects.
func EnqueueRequestsFromMapFunc(fn MapFunc) EventHandler {
	return TypedEnqueueRequestsFromMapFunc(fn)
}

// TypedEnqueueRequestsFromMapFunc returns a handler that enqueues the requests which fn returns for
// the object of an event. For an update it calls fn with both objects, because the requests of the
// old one have to hear that it no longer concerns them. A request that fn returns more than once
// for one event is added once.
//
// fn is never called with nil. In controller-runtime it is, if an event lacks an object, which only
// a faulty source's does.
func TypedEnqueueRequestsFromMapFunc[object any, request comparable](
	fn TypedMapFunc[object, request],
) TypedEventHandler[object, request] {
	return mapper[object, request](fn)
}

type mapper[object any, request comparable] TypedMapFunc[object, request]

func (m mapper[object, request]) Create(
	ctx context.Context, e event.TypedCreateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, queue, ofCreate(e), e.Object)
}

func (m mapper[object, request]) Update(
	ctx context.Context, e event.TypedUpdateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, queue, ofUpdate(e), e.ObjectOld, e.ObjectNew)
}

func (m mapper[object, request]) Delete(
	ctx context.Context, e event.TypedDeleteEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, queue, ofDelete(e), e.Object)
}

func (m mapper[object, request]) Generic(
	ctx context.Context, e event.TypedGenericEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, queue, ofGeneric(e), e.Object)
}

func (mapper[object, request]) own() ownHandler {
	return ownHandler{goType: reflect.TypeFor[mapper[object, request]]()}
}

// String is the handler's name in the flight recorder.
func (m mapper[object, request]) String() string {
	return "EnqueueRequestsFromMapFunc(" + anyvalue.FunctionName(m) + ")"
}

func (m mapper[object, request]) enqueue(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request], c cause,
	objects ...object,
) {
	var requests []request
	seen := map[request]bool{}
	for _, obj := range objects {
		if event.IsNil(obj) {
			continue
		}
		for _, next := range m(ctx, obj) {
			if !seen[next] {
				seen[next] = true
				requests = append(requests, next)
			}
		}
	}
	enqueue(queue, c.opts(", through a map function"), requests...)
}

// EnqueueRequestsThatWaitFor is TypedEnqueueRequestsThatWaitFor for any object and requests that
// are the names of objects.
func EnqueueRequestsThatWaitFor(kind schema.GroupKind) EventHandler {
	return TypedEnqueueRequestsThatWaitFor[client.Object, reconcile.Request](kind)
}

// TypedEnqueueRequestsThatWaitFor adds the requests whose Reconciler has returned reconcile.WaitFor
// with the object of the event. Use it for a kind that a controller waits for. You have to name the
// kind, because a Go object doesn't always know its own.
//
// Caveats: only a controller's queue knows which requests wait. With any other queue, none are
// woken.
func TypedEnqueueRequestsThatWaitFor[object client.Object, request comparable](
	kind schema.GroupKind,
) TypedEventHandler[object, request] {
	return waitHandler[object, request](kind)
}

type waitHandler[object client.Object, request comparable] schema.GroupKind

func (w waitHandler[object, request]) Create(
	_ context.Context, e event.TypedCreateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	w.wake(queue, e.Object)
}

func (w waitHandler[object, request]) Update(
	_ context.Context, e event.TypedUpdateEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	w.wake(queue, e.ObjectNew)
}

func (w waitHandler[object, request]) Delete(
	_ context.Context, e event.TypedDeleteEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	w.wake(queue, e.Object)
}

func (w waitHandler[object, request]) Generic(
	_ context.Context, e event.TypedGenericEvent[object],
	queue workqueue.TypedRateLimitingInterface[request],
) {
	w.wake(queue, e.Object)
}

// String is the handler's name in the flight recorder.
func (w waitHandler[object, request]) String() string {
	return "EnqueueRequestsThatWaitFor(" + schema.GroupKind(w).String() + ")"
}

func (w waitHandler[object, request]) wake(
	queue workqueue.TypedRateLimitingInterface[request], obj object,
) {
	waker, ok := queue.(reconcile.Waker)
	if !ok || event.IsNil(obj) {
		return
	}
	waker.Wake(reconcile.ObjectRef{
		Group: w.Group, Kind: w.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(),
	})
}
