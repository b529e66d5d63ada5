package reconcile

import (
	"errors"
	"strings"
)

// ObjectRef names an object of any kind. The group is empty for Pods, Secrets and the other
// kinds of the core API; the namespace is empty for an object that is in none.
//
// It has no version: an object is the same one in all versions of its kind.
type ObjectRef struct{ Group, Kind, Namespace, Name string }

// String is for messages: "Secret shop/password", "Deployment.apps shop/web".
func (r ObjectRef) String() string {
	var text strings.Builder
	text.WriteString(r.Kind)
	if r.Group != "" {
		text.WriteString("." + r.Group)
	}
	text.WriteByte(' ')
	if r.Namespace != "" {
		text.WriteString(r.Namespace + "/")
	}
	text.WriteString(r.Name)
	return text.String()
}

// WaitFor is the error of a Reconciler that can do nothing until another object is there, or
// has changed. The request is not retried. It is added again when the controller hears of that
// object: see controller.Controller.Wake.
//
// A retry would be the wrong tool. The other object may come in a second or next week: a growing
// delay asks too often at first, and is far too long when the object is there at last.
//
// Caveats: somebody has to watch the other kind, and to call Wake, as the handler
// handler.EnqueueRequestsThatWaitFor does. In case nobody does, the
// controller looks again after Options.WaitFallback. A request waits for one object at a time,
// the one of its last answer; an error that may be retried does not end the wait. The first time
// that it waits for an object, it is looked at twice. If it waited for another until then, the
// second look comes after the rate limiter's delay, so that a Reconciler that never settles for an
// object backs off.
func WaitFor(ref ObjectRef) error { return &waitError{ref} }

type waitError struct{ ref ObjectRef }

func (w *waitError) Error() string { return "waiting for " + w.ref.String() }

// WaitsFor returns the object that an error of WaitFor names. The error may be wrapped. If it was
// joined with others, it does not count: one of them may be a failure that wants a retry.
func WaitsFor(err error) (ref ObjectRef, waits bool) {
	for ; err != nil; err = errors.Unwrap(err) { // which returns nil for several
		if wait, ok := err.(*waitError); ok {
			return wait.ref, true
		}
	}
	return ObjectRef{}, false
}

// Waker is what a source or a handler finds behind the queue that it is given by a controller.
// It calls Wake for each object of which it hears, whether or not it makes a request of it:
//
//	if waker, ok := queue.(reconcile.Waker); ok {
//		waker.Wake(ref)
//	}
type Waker interface {
	// Wake adds all requests that wait for the object, and costs next to nothing if there are
	// none. They go on waiting until their Reconciler says otherwise.
	Wake(ref ObjectRef)
}
