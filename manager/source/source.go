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
// WaitForStop returns, the handler is not called any more, and no goroutine is left. A source may be
// watched by several controllers; each gets every event. It may be watched again after it has ended.
//
// Every state that the cache has shown is told, because a reconciler may have acted on it: of an object
// that gets another owner, and then another, all three hear. There is one exception, for which it makes
// no difference: with [handler.EnqueueRequestForObject] and no predicates, what waits for the
// handler is merged.
//
// Caveats: objects are shared with the cache: copy before changing. States that the cache has not shown
// may be missed, while a watch is interrupted, for instance. A panic of a predicate or a handler ends the
// process. The context that a handler gets ends with the source; in controller-runtime it ends when the
// handler returns.
//
// Neighbours: below it are the informers that a cache hands out, and packages event, predicate and
// handler. Above it is the controller, which starts sources and gives them its queue.
package source

import (
	"context"
	"fmt"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
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
type Func func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error

// Start implements Source.
func (f Func) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return f(ctx, queue)
}

// String is what the source is called in messages.
func (f Func) String() string { return fmt.Sprintf("func source: %p", f) }
