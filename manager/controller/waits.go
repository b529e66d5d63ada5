package controller

import (
	"cmp"
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
// extra look for each wait, not one for each wake-up. An error that is retried is no such answer:
// a reconciler that could not look does not know that the wait is over.
type waits struct {
	mu      sync.Mutex // guards all below
	awaited map[reconcile.Request]reconcile.ObjectRef
	// the priority with which each is woken
	requests map[reconcile.ObjectRef]map[reconcile.Request]int
}

// begin notes that a request waits for an object, and for no other from now on. It returns the
// object for which the request waited before, if there was one. If that is another object, or
// none, the request must be looked at once more.
func (w *waits) begin(
	request reconcile.Request, ref reconcile.ObjectRef, priority int,
) (before reconcile.ObjectRef, waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, waited = w.awaited[request]
	w.endLocked(request)
	if w.awaited == nil {
		w.awaited = map[reconcile.Request]reconcile.ObjectRef{}
		w.requests = map[reconcile.ObjectRef]map[reconcile.Request]int{}
	}
	if w.requests[ref] == nil {
		w.requests[ref] = map[reconcile.Request]int{}
	}
	w.awaited[request] = ref
	w.requests[ref][request] = priority
	return before, waited
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

// waiting is a request that waits, and the priority with which it is woken.
type waiting struct {
	request  reconcile.Request
	priority int
}

// on returns the requests that wait for an object, sorted, so that they are added in an order
// that does not depend on a map.
func (w *waits) on(ref reconcile.ObjectRef) (found []waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for request, priority := range w.requests[ref] {
		found = append(found, waiting{request, priority})
	}
	slices.SortFunc(found, func(a, b waiting) int {
		return cmp.Or(cmp.Compare(a.request.Namespace, b.request.Namespace),
			cmp.Compare(a.request.Name, b.request.Name))
	})
	return found
}

// Wake implements Controller. If something waits, a worker has been there, and so is the queue.
func (c *controlLoop) Wake(ref reconcile.ObjectRef) {
	found := c.waits.on(ref)
	if len(found) == 0 {
		return
	}
	c.mu.Lock()
	queue := c.opened.queue
	c.mu.Unlock()
	reason := ref.String() + " changed, for which it waited"
	for _, w := range found {
		queue.AddWithOpts(workqueue.AddOpts{Priority: &w.priority, Reason: reason}, w.request)
	}
}
