// Package reconcile is the part of a controller that you write: a function that looks at one object
// and does the next thing about it.
//
// A Request goes in, which names an object to reconcile. A Result or an error comes out, which says
// whether to reconcile it again, and when.
//
// Neighbours: below it are apimachinery's names and the queue's causes. Above it is the controller,
// which calls a Reconciler from its workers and does what the answer says.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/workqueue"
)

// Request names an object to reconcile.
//
// It doesn't say what happened to the object, and that's on purpose: a queue merges equal requests.
// Ten changes of one object are one Request, and the Reconciler that is called for it finds the
// state after the tenth.
type Request struct {
	types.NamespacedName
}

// Reconciler is the form that nearly all controllers use: its requests are the names of objects.
type Reconciler = TypedReconciler[Request]

// TypedReconciler brings one object from its current state to the one that it should have.
//
// It gets a name and reads the rest itself, because that read is newer than any event. If the
// object isn't there, that isn't an error: it was deleted, and there's nothing to do. A Reconciler
// may be called for several requests at the same time, but never for the same one twice at the same
// time. It may be called although nothing has changed, and it has to be able to start in the
// middle: the process may have ended halfway through the last call.
//
// The answer means:
//
//	error               result                what happens
//	nil                 zero                  done, until something changes
//	nil                 RequeueAfter > 0      again after that time
//	nil                 Requeue               again, after a delay that grows each time
//	TerminalError       any                   logged and counted, not tried again
//	WaitFor             any                   again when the other object changes
//	any other           any                   logged and counted, again after a growing delay
//
// A panic counts as an error. An error wins over a Result, except for the Result's Priority.
//
// A program may have its own type of request, such as the name of an object together with its
// cluster's. They're compared by ==, and equal ones are merged.
type TypedReconciler[request comparable] interface {
	Reconcile(context.Context, request) (Result, error)
}

// Func is a function that is a Reconciler.
type Func = TypedFunc[Request]

// TypedFunc is a function that is a TypedReconciler.
type TypedFunc[request comparable] func(context.Context, request) (Result, error)

// Reconcile implements TypedReconciler.
func (f TypedFunc[request]) Reconcile(ctx context.Context, req request) (Result, error) {
	return f(ctx, req)
}

// Result says when to reconcile a request again if nothing happens until then. The zero Result
// means "done".
type Result struct {
	// Requeue reconciles the request again after the rate limiter's delay, which grows each time.
	// To the limiter it's a failed request, although there's no error, so it's rarely what you
	// want. RequeueAfter says it better, and wins if both are set.
	Requeue bool
	// RequeueAfter reconciles the request again after this time. Zero and negative values do
	// nothing.
	RequeueAfter time.Duration
	// Priority is the request's priority next time, if this answer leads to a next time; nil keeps
	// the priority that it has.
	Priority *int
}

// IsZero reports whether the Result is zero. You can call it on nil.
func (r *Result) IsZero() bool { return r == nil || *r == Result{} }

// TerminalError is for a failure that no retry can cure, such as a spec that makes no sense. The
// request isn't retried. It's reconciled when something adds it again: somebody has to correct the
// spec, and that is an event. The error is still logged and counted.
//
// You can wrap it; errors.Is(err, TerminalError(nil)) finds it.
func TerminalError(wrapped error) error { return &terminalError{wrapped} }

type terminalError struct{ err error }

func (t *terminalError) Error() string {
	if t.err == nil {
		return "nil terminal error"
	}
	return fmt.Sprint("terminal error: ", t.err) // which may be a nil pointer
}

func (t *terminalError) Unwrap() error { return t.err }

// Is makes all terminal errors equal to errors.Is, even if target is wrapped.
func (t *terminalError) Is(target error) bool {
	_, terminal := errors.AsType[*terminalError](target)
	return terminal
}

// ObjectRef names an object of any kind. The group is empty for Pods, Secrets and the other kinds
// of the core API; the namespace is empty for an object without one.
//
// It has no version, because an object is the same in all versions of its kind.
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

// WaitFor returns an error for a Reconciler that can do nothing until another object exists, or has
// changed. The request isn't retried. It's added again when the controller hears of that object:
// see Waker.
//
// A retry would be the wrong tool. The other object may appear in a second or next week, so a
// growing delay is too short at first, and far too long when the object finally exists.
//
// Caveats: something has to watch the other kind and call Wake, as
// handler.EnqueueRequestsThatWaitFor does. In case nothing does, the controller reconciles the
// request again after Options.WaitFallback. A request waits for one object at a time, the one in
// its last answer; an error that is retried doesn't end the wait. The first time that a request
// waits for an object, it's reconciled twice. If it waited for a different object before, the
// second time comes after the rate limiter's delay, so that a Reconciler that names a new object
// each time backs off.
func WaitFor(ref ObjectRef) error { return &waitError{ref} }

type waitError struct{ ref ObjectRef }

func (w *waitError) Error() string { return "waiting for " + w.ref.String() }

// WaitsFor returns the object in an error from WaitFor. The error may be wrapped. If it was joined
// with others, it doesn't count: one of them may be a failure that needs a retry.
func WaitsFor(err error) (ref ObjectRef, waits bool) {
	for ; err != nil; err = theOneIn(err) {
		if wait, ok := err.(*waitError); ok {
			return wait.ref, true
		}
	}
	return ObjectRef{}, false
}

// theOneIn returns the error that an error wraps, or nil if it wraps several. errors.Join(err, nil)
// wraps one.
func theOneIn(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return errors.Unwrap(err)
	}
	if all := joined.Unwrap(); len(all) == 1 {
		return all[0]
	}
	return nil
}

// Waker is implemented by the queue that a controller passes to sources and handlers. They call
// Wake for each object that they hear of, whether or not they make a request for it:
//
//	if waker, ok := queue.(reconcile.Waker); ok {
//		waker.Wake(ref)
//	}
type Waker interface {
	// Wake adds all requests that wait for the object, and costs next to nothing if there are none.
	// They keep waiting until their Reconciler says otherwise.
	Wake(ref ObjectRef)
}

// ObjectReconciler is a Reconciler that gets the object instead of its name.
type ObjectReconciler[object client.Object] interface {
	Reconcile(context.Context, object) (Result, error)
}

// AsReconciler returns a Reconciler that reads the object and passes it to rec. If the object
// doesn't exist, there's nothing to do, and rec isn't called. A proxy's 404 says nothing about the
// object, so it's retried. The object is a copy that rec may change, unless the cache was told
// UnsafeDisableDeepCopy.
//
// object must be a pointer to a Go type that the client's scheme knows: an unstructured object
// would need its kind before it's read.
func AsReconciler[object client.Object](c client.Client, rec ObjectReconciler[object]) Reconciler {
	goType := reflect.TypeFor[object]()
	return Func(func(ctx context.Context, request Request) (Result, error) {
		if goType.Kind() != reflect.Pointer {
			return Result{},
				TerminalError(fmt.Errorf("AsReconciler needs a pointer to a Go type, and %s isn't one", goType))
		}
		obj := reflect.New(goType.Elem()).Interface().(object)
		err := c.Get(ctx, request.NamespacedName, obj)
		if client.IsAbsent(err, request.NamespacedName) {
			return Result{}, nil
		}
		if err != nil {
			return Result{}, err
		}
		return rec.Reconcile(ctx, obj)
	})
}

type reasonsKey struct{}

// ReasonsFrom says why a Reconciler was called: the first few reasons for which its request was
// added, and how often it was added. They're for logs and for people. A Reconciler that makes
// decisions based on them is wrong, because the next process finds all objects in a list, without
// reasons.
//
// They're empty if the controller's queue keeps none.
func ReasonsFrom(ctx context.Context) workqueue.Causes {
	causes, _ := ctx.Value(reasonsKey{}).(workqueue.Causes)
	return causes
}

// WithReasons returns a context from which ReasonsFrom reads the causes. Controllers call it; you
// need it only in tests.
func WithReasons(ctx context.Context, causes workqueue.Causes) context.Context {
	return context.WithValue(ctx, reasonsKey{}, causes)
}
