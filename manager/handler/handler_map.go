package handler

import (
	"context"
	"slices"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

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

func (m mapper) Create(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.enqueue(ctx, queue, ofCreate(e))
}

func (m mapper) Update(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.enqueue(ctx, queue, ofUpdate(e))
}

func (m mapper) Delete(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.enqueue(ctx, queue, ofDelete(e))
}

func (m mapper) Generic(ctx context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	m.enqueue(ctx, queue, ofGeneric(e))
}

// String is the handler's name in the flight recorder.
func (m mapper) String() string {
	return "EnqueueRequestsFromMapFunc(" + anyvalue.FunctionName(m) + ")"
}

var mapPhrases = phrases{through: ", through a map function"}

func (m mapper) enqueue(ctx context.Context, queue clientQueue, o occurrence) {
	var before, now []reconcile.Request
	if o.older != nil {
		before = m(ctx, o.older)
	}
	if o.object != nil {
		now = m(ctx, o.object)
	}
	enqueue(queue, mapPhrases.opts(o), distinct(before, now)...)
}

// distinct is what is in either list, once, in the order of its first place. The lists stay as
// they are.
func distinct(before, now []reconcile.Request) []reconcile.Request {
	const few = 8 // up to which it costs less to look through all than to make a map
	most := len(before) + len(now)
	found := make([]reconcile.Request, 0, most)
	if most <= few {
		for _, requests := range [...][]reconcile.Request{before, now} {
			for _, request := range requests {
				found = appendOnce(found, request)
			}
		}
		return found
	}
	seen := make(map[reconcile.Request]bool, most)
	for _, requests := range [...][]reconcile.Request{before, now} {
		for _, request := range requests {
			if !seen[request] {
				seen[request] = true
				found = append(found, request)
			}
		}
	}
	return found
}

func appendOnce(requests []reconcile.Request, request reconcile.Request) []reconcile.Request {
	if slices.Contains(requests, request) {
		return requests
	}
	return append(requests, request)
}
