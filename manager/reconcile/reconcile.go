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

	"k8s.io/apimachinery/pkg/types"
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
