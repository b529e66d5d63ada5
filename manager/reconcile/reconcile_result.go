package reconcile

import "time"

// Result says when a request should be looked at again, if nothing happens until then. The
// zero Result is "done".
type Result struct {
	// Requeue asks for another look after the delay of the controller's rate limiter, which
	// grows each time. To the limiter it is a failure of the request, although there is no error:
	// so it is rarely what one wants. RequeueAfter says it better, and wins if both are given.
	Requeue bool
	// RequeueAfter asks for another look after a time. Zero and less ask for nothing.
	RequeueAfter time.Duration
	// Priority is what the request has the next time, if this answer leads to one; nil keeps
	// the priority that it has.
	Priority *int
}

// IsZero reports whether the Result asks for nothing. It may be called on nil.
func (r *Result) IsZero() bool { return r == nil || *r == Result{} }
