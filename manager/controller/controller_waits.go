package controller

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// waits knows which requests wait for which objects.
//
// The danger is the moment between a reconciler's look at the other object and its answer. If
// the object comes in this moment, nobody waits for it yet, and nobody is woken. Therefore a
// request that begins to wait is looked at once more, when it is in the table already: either
// this look finds the object, or the object comes later and finds the request.
//
// A request stays in the table until its reconciler answers something else. So it costs one
// extra look for each wait, not one for each wake-up.
type waits struct {
	mu       sync.Mutex // guards all below
	awaited  map[reconcile.Request]reconcile.ObjectRef
	requests map[reconcile.ObjectRef]map[reconcile.Request]struct{}
}

// begin says that a request waits for an object now, and for no other. It returns true if this
// is new: then the request must be looked at once more.
func (w *waits) begin(request reconcile.Request, ref reconcile.ObjectRef) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, waiting := w.awaited[request]; waiting && before == ref {
		return false
	}
	w.endLocked(request)
	if w.awaited == nil {
		w.awaited = map[reconcile.Request]reconcile.ObjectRef{}
		w.requests = map[reconcile.ObjectRef]map[reconcile.Request]struct{}{}
	}
	if w.requests[ref] == nil {
		w.requests[ref] = map[reconcile.Request]struct{}{}
	}
	w.awaited[request] = ref
	w.requests[ref][request] = struct{}{}
	return true
}

// end says that a request waits for nothing.
func (w *waits) end(request reconcile.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLocked(request)
}

func (w *waits) endLocked(request reconcile.Request) {
	ref := w.awaited[request]
	delete(w.awaited, request)
	delete(w.requests[ref], request)
	if len(w.requests[ref]) == 0 {
		delete(w.requests, ref)
	}
}

// on returns the requests that wait for an object, sorted, so that they are added in an order
// that does not depend on a map.
func (w *waits) on(ref reconcile.ObjectRef) []reconcile.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Keys(w.requests[ref]), func(a, b reconcile.Request) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// Wake implements Controller. If something waits, a worker has been there, and so is the queue.
func (c *controlLoop) Wake(ref reconcile.ObjectRef) {
	waiting := c.waits.on(ref)
	if len(waiting) == 0 {
		return
	}
	c.mu.Lock()
	queue := c.opened.queue
	c.mu.Unlock()
	queue.AddWithOpts(workqueue.AddOpts{Reason: ref.String() + " changed, for which it waited"}, waiting...)
}
