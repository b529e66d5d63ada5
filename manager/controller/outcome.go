package controller

import (
	"errors"
	"sync"
	"time"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// decision is what happens to a request after its reconcile.
type decision struct {
	// label is its name in the metric controller_runtime_reconcile_total. A decision with the label
	// "error" is logged as an error, all others at a higher verbosity.
	label string
	// forget means that the failures so far no longer count: the next one is the first.
	forget bool
	// again says when the request is reconciled again if nothing adds it until then.
	again nextLook
	// after goes with afterDelay, awaited with whenWoken.
	after   time.Duration
	awaited reconcile.ObjectRef
	// priority is the request's priority next time; nil keeps the one it has.
	priority *int

	terminal bool // an error that says itself that a retry is useless
	gaveUp   bool // an error that was retried often enough
	// ignored means that the Result asked for something that an error overrules. That deserves a
	// warning, because the reconciler's author expects a retry after one delay and gets another.
	ignored bool
}

// nextLook says when a request is reconciled again.
type nextLook uint8

const (
	onlyWhenAdded nextLook = iota // by an event, or by somebody else
	afterDelay                    // after a time that the reconciler chose
	rateLimited                   // after a delay that grows with each failure
	whenWoken                     // when the object that it waits for changes
)

// The labels. The last one is ours; the others are controller-runtime's.
const (
	labelSuccess      = "success"
	labelRequeueAfter = "requeue_after"
	labelRequeue      = "requeue"
	labelError        = "error"
	labelWaiting      = "waiting"
)

// errTerminal is what errors.Is finds in every terminal error.
var errTerminal = reconcile.TerminalError(nil)

// outcome says what a reconciler's answer means. It's the whole contract of reconcile.Reconciler,
// and has no other input.
//
// By the time they get here, a panic and a timeout are errors. A context's error is an error like
// any other: the context may have been the reconciler's own, so its end doesn't tell us whether a
// retry helps.
func outcome(result reconcile.Result, err error) decision {
	d := decision{priority: result.Priority}
	awaited, waits := reconcile.WaitsFor(err)
	switch {
	case err == nil && result.RequeueAfter > 0:
		d.label, d.again, d.forget, d.after = labelRequeueAfter, afterDelay, true,
			result.RequeueAfter
	case err == nil && result.Requeue:
		d.label, d.again = labelRequeue, rateLimited
	case err == nil:
		d.label, d.again, d.forget = labelSuccess, onlyWhenAdded, true
	case errors.Is(err, errTerminal):
		// controller-runtime doesn't forget. Then the next failure, after the spec was
		// corrected, waits for as long as if it were one more of the same.
		d.label, d.again, d.forget, d.terminal = labelError, onlyWhenAdded, true, true
	case waits:
		d.label, d.again, d.forget, d.awaited = labelWaiting, whenWoken, true, awaited
	default:
		d.label, d.again = labelError, rateLimited
	}
	d.ignored = err != nil && (result.Requeue || result.RequeueAfter > 0)
	return d
}

// limitRetries gives up on a request that fails again although it has used up its retries; 0 is no
// limit. Its failures are forgotten, so the next event starts over.
//
// Only errors count. A reconciler that answers Requeue hasn't failed, although the rate limiter
// counts it.
func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}

// retries counts how often each request has been retried since it last succeeded, for MaxRetries.
// The rate limiter has a different count: it includes answers that aren't errors, such as Requeue,
// and a limiter may not count at all.
type retries[request comparable] struct {
	mu   sync.Mutex // guards made
	made map[request]int
}

// limit is decision.limitRetries with the count of the request, and counts the retry if there is
// one.
func (r *retries[request]) limit(item request, d decision, limit int) decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	d = d.limitRetries(r.made[item], limit)
	switch {
	case d.forget:
		delete(r.made, item)
	case d.label == labelError:
		if r.made == nil {
			r.made = map[request]int{}
		}
		r.made[item]++
	}
	return d
}

// forget begins to count from 0.
func (r *retries[request]) forget(item request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.made, item)
}
