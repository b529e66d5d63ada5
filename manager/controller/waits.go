package controller

import (
	"cmp"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/manager/internal/requestname"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// waits knows which requests wait for which objects.
//
// The danger is the moment between a reconciler's read of the other object and its answer. If the
// object appears in this moment, the request isn't in the table yet, so it isn't woken. That's why
// a request that begins to wait is reconciled once more when it's already in the table: either this
// reconcile finds the object, or the object comes later and finds the request.
//
// A request stays in the table until its reconciler gives a different answer. So there's one extra
// reconcile for each wait, not one for each wake-up. An error that is retried doesn't end the wait:
// a reconciler that couldn't look doesn't know that the wait is over.
type waits[request comparable] struct {
	mu      sync.Mutex // guards all below
	awaited map[request]reconcile.ObjectRef
	// the priority with which each is woken
	requests map[reconcile.ObjectRef]map[request]int
}

// begin notes that a request waits for this object, and from now on for no other. It returns the
// object that the request waited for before, if there was one. If that was a different object, or
// none, the request must be reconciled once more.
func (w *waits[request]) begin(
	item request, ref reconcile.ObjectRef, priority int,
) (before reconcile.ObjectRef, waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before, waited = w.awaited[item]
	w.endLocked(item)
	if w.awaited == nil {
		w.awaited = map[request]reconcile.ObjectRef{}
		w.requests = map[reconcile.ObjectRef]map[request]int{}
	}
	if w.requests[ref] == nil {
		w.requests[ref] = map[request]int{}
	}
	w.awaited[item] = ref
	w.requests[ref][item] = priority
	return before, waited
}

// end notes that a request waits for nothing.
func (w *waits[request]) end(item request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLocked(item)
}

func (w *waits[request]) endLocked(item request) {
	ref := w.awaited[item]
	delete(w.awaited, item)
	delete(w.requests[ref], item)
	if len(w.requests[ref]) == 0 {
		delete(w.requests, ref)
	}
}

// waiting is a request that waits, and the priority that it's woken with.
type waiting[request comparable] struct {
	item     request
	priority int
}

// on returns the requests that wait for an object, sorted, so that the order in which they're added
// doesn't depend on a map.
func (w *waits[request]) on(ref reconcile.ObjectRef) (found []waiting[request]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for item, priority := range w.requests[ref] {
		found = append(found, waiting[request]{item, priority})
	}
	slices.SortFunc(found, func(a, b waiting[request]) int {
		aNamespace, aName := requestname.Of(&a.item)
		bNamespace, bName := requestname.Of(&b.item)
		return cmp.Or(cmp.Compare(aNamespace, bNamespace), cmp.Compare(aName, bName))
	})
	return found
}

// Wake implements reconcile.Waker. If a request waits, a worker has run, and so the queue exists.
func (c *controlLoop[request]) Wake(ref reconcile.ObjectRef) {
	found := c.waits.on(ref)
	if len(found) == 0 {
		return
	}
	c.mu.Lock()
	queue := c.opened.queue
	c.mu.Unlock()
	reason := ref.String() + " changed, for which it waited"
	for _, w := range found {
		queue.AddWithOpts(workqueue.AddOpts{Priority: &w.priority, Reason: reason}, w.item)
	}
}
