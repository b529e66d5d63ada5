// Package reconcile is what the user of a controller writes: the function that looks at one
// object and does the next thing about it.
//
// A Request goes in, the name of an object that needs a look; a Result or an error comes out,
// which says whether, and when, it needs another.
//
// Neighbours: below it are apimachinery's names and the queue's causes. Above it is the
// controller, which calls a Reconciler from its workers and does what the answer says.
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

// Request names an object that needs a look.
//
// It does not say what happened to the object, and this is on purpose: a queue merges requests
// that are equal. Ten changes of one object are one Request, and the Reconciler that is called
// for it finds the state after the tenth.
type Request struct {
	types.NamespacedName
}

// Reconciler brings one object from what it is to what it should be.
//
// It is called for a name and reads the rest, because what it reads is newer than any event
// could be. An object that is not there is not an error: it was deleted, and there is nothing
// to do. A Reconciler may be called for several requests at a time, but never twice at a time
// for the same. It may be called although nothing has changed, and has to be able to begin in
// the middle: the process may have ended halfway through the last call.
//
// What it returns means:
//
//	error               result                what happens
//	nil                 zero                  done, until something changes
//	nil                 RequeueAfter > 0      again after that time
//	nil                 Requeue               again, after a delay that grows each time
//	TerminalError       any                   logged and counted, not tried again
//	WaitFor             any                   again when the other object changes
//	any other           any                   logged and counted, again after a growing delay
//
// A panic is an error. An error wins over a Result, of which only Priority counts then.
//
// In controller-runtime, this is an alias of a type with a parameter for the request. Here a
// request names an object, and that is all there is.
type Reconciler interface {
	Reconcile(context.Context, Request) (Result, error)
}

// Func is a function that is a Reconciler.
type Func func(context.Context, Request) (Result, error)

// Reconcile implements Reconciler.
func (f Func) Reconcile(ctx context.Context, request Request) (Result, error) {
	return f(ctx, request)
}

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

// TerminalError is for a failure that no retry can cure, such as a spec that makes no sense.
// The request is not tried again until something adds it: somebody has to correct the spec, and
// this is an event. The error is still logged and counted.
//
// It may be wrapped; errors.Is(err, TerminalError(nil)) finds it.
func TerminalError(wrapped error) error { return &terminalError{wrapped} }

type terminalError struct{ err error }

func (t *terminalError) Error() string {
	if t.err == nil {
		return "nil terminal error"
	}
	return fmt.Sprint("terminal error: ", t.err) // which may be a nil pointer
}

func (t *terminalError) Unwrap() error { return t.err }

// Is makes all terminal errors equal to errors.Is. What is asked for may be wrapped, too.
func (t *terminalError) Is(target error) bool {
	_, terminal := errors.AsType[*terminalError](target)
	return terminal
}

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
	for ; err != nil; err = theOneIn(err) {
		if wait, ok := err.(*waitError); ok {
			return wait.ref, true
		}
	}
	return ObjectRef{}, false
}

// theOneIn returns the error that an error wraps, and nil if it wraps several.
// errors.Join(err, nil) wraps one.
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

// ObjectReconciler is a Reconciler that gets the object instead of its name.
type ObjectReconciler[object client.Object] interface {
	Reconcile(context.Context, object) (Result, error)
}

// AsReconciler makes a Reconciler, which reads the object and passes it on. If the object is not
// there, there is nothing to do, and rec is not called; a proxy's 404 says nothing of the object,
// and is retried. The object is a copy, which rec may change, unless the cache was told
// UnsafeDisableDeepCopy.
//
// object must be a pointer to a Go type that the client's scheme knows: an unstructured object
// would have to know its kind before it is read.
func AsReconciler[object client.Object](c client.Client, rec ObjectReconciler[object]) Reconciler {
	goType := reflect.TypeFor[object]()
	return Func(func(ctx context.Context, request Request) (Result, error) {
		if goType.Kind() != reflect.Pointer {
			return Result{},
				TerminalError(fmt.Errorf("AsReconciler needs a pointer to a Go type, and %s is none", goType))
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

// ReasonsFrom says why a Reconciler was called: the first few reasons with which its request was
// added, and how many adds there were. They are for logs and for people. A Reconciler that
// decides by them is wrong, because the next process finds all objects in a list, without them.
//
// They are empty if the controller's queue keeps none.
func ReasonsFrom(ctx context.Context) workqueue.Causes {
	causes, _ := ctx.Value(reasonsKey{}).(workqueue.Causes)
	return causes
}

// WithReasons returns a context from which ReasonsFrom reads the causes. Controllers call it;
// others need it in tests only.
func WithReasons(ctx context.Context, causes workqueue.Causes) context.Context {
	return context.WithValue(ctx, reasonsKey{}, causes)
}
