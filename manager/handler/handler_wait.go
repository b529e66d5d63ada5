package handler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// EnqueueRequestsThatWaitFor adds the requests whose Reconciler has answered reconcile.WaitFor with
// the object of the event. It is for a kind that a controller waits for. The kind must be named,
// because a Go object does not always know its own.
//
// Caveats: a controller knows who waits. With a queue of another origin, nobody is woken.
func EnqueueRequestsThatWaitFor(kind schema.GroupKind) EventHandler { return waitHandler(kind) }

type waitHandler schema.GroupKind

func (w waitHandler) Create(_ context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.wake(queue, e.Object)
}

func (w waitHandler) Update(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.wake(queue, e.ObjectNew)
}

func (w waitHandler) Delete(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.wake(queue, e.Object)
}

func (w waitHandler) Generic(_ context.Context, e event.GenericEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	w.wake(queue, e.Object)
}

// String is the handler's name in the flight recorder.
func (w waitHandler) String() string {
	return "EnqueueRequestsThatWaitFor(" + schema.GroupKind(w).String() + ")"
}

func (w waitHandler) wake(queue clientQueue, object client.Object) {
	waker, ok := queue.(reconcile.Waker)
	if !ok || event.IsNil(object) {
		return
	}
	waker.Wake(reconcile.ObjectRef{Group: w.Group, Kind: w.Kind, Namespace: object.GetNamespace(), Name: object.GetName()})
}
