package controller

import (
	"errors"
	"sync"
	"time"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// decision is what happens to a request after its reconcile.
type decision struct {
	// label is its name in the metric controller_runtime_reconcile_total. A decision with the
	// label "error" is logged as an error, all others are details.
	label string
	// forget means that the failures so far no longer count: the next one is the first.
	forget bool
	// again says when the request is looked at again if nothing adds it until then.
	again nextLook
	// after goes with afterDelay, awaited with whenWoken.
	after   time.Duration
	awaited reconcile.ObjectRef
	// priority is what the request has the next time; nil keeps what it has.
	priority *int

	terminal bool // an error that says itself that a retry is useless
	gaveUp   bool // an error that was retried often enough
	// ignored means that the Result asked for something that an error overrules. It is worth a
	// warning: the reconciler's author expects a retry after a time, and gets another.
	ignored bool
}

// nextLook says when a request is looked at again.
type nextLook uint8

const (
	onlyWhenAdded nextLook = iota // by an event, or by anybody else
	afterDelay                    // after a time that the reconciler chose
	rateLimited                   // after a delay that grows with each failure
	whenWoken                     // when the object changes for which it waits
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

// outcome says what a reconciler's answer means. It is the whole contract of
// reconcile.Reconciler, and has no other input.
//
// A panic and a timeout are errors by the time they come here. The errors of a context are
// like any other: the context may have been the reconciler's own, so that it ended says
// nothing about whether a retry helps.
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
		// controller-runtime does not forget. Then the next failure, after the spec was
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

// limitRetries gives a request up that fails although it has been retried as often as it may be;
// 0 is no limit. It is forgotten, so that the next event starts over.
//
// Only an error is given up. A reconciler that answers Requeue has not failed, although the
// rate limiter counts it.
func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}

// retries counts how often each request has been retried since it last went well, for MaxRetries.
// The rate limiter's count is another one: it includes answers that are no errors, such as
// Requeue, and a limiter need not count at all.
type retries struct {
	mu   sync.Mutex // guards made
	made map[reconcile.Request]int
}

// limit is decision.limitRetries with the count of the request, and counts the retry that is left.
func (r *retries) limit(request reconcile.Request, d decision, limit int) decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	d = d.limitRetries(r.made[request], limit)
	switch {
	case d.forget:
		delete(r.made, request)
	case d.label == labelError:
		if r.made == nil {
			r.made = map[reconcile.Request]int{}
		}
		r.made[request]++
	}
	return d
}
