package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// region source

// anyQueue is what a source is given, and queue is what it finds behind that.
type (
	anyQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	queue    = priorityqueue.PriorityQueue[reconcile.Request]
)

// source watches a kind with an informer. What an event means for the queue is the function tell.
type source[T informer.Object] struct {
	informer *informer.Informer[T]
	tell     func(queue anyQueue, object T, reason string, priority int)

	registration *informer.Registration
	running      sync.WaitGroup // the informer
}

// Start implements controller.Source.
func (s *source[T]) Start(ctx context.Context, queue anyQueue) (err error) {
	s.registration, err = s.informer.AddHandler(informer.HandlerFuncs[T]{
		Add: func(object T, initial bool) {
			if initial {
				s.tell(queue, object, "listed", workqueue.LowPriority)
			} else {
				s.tell(queue, object, "created", 0)
			}
		},
		Update: func(_, object T) { s.tell(queue, object, "changed", 0) },
		Delete: func(object T, _ bool) { s.tell(queue, object, "deleted", 0) },
	}, informer.HandlerOptions{})
	if err == nil {
		s.running.Go(func() { _ = s.informer.Run(ctx) }) // without GiveUp, it ends with ctx and without an error
	}
	return err
}

// WaitForSync returns when the handler has been told all there is, and not before: then the whole
// list is in the queue.
func (s *source[T]) WaitForSync(ctx context.Context) error {
	if err := s.informer.WaitForSync(ctx); err != nil {
		return err
	}
	select {
	case <-s.registration.Synced():
		return nil
	case <-s.registration.Done():
		return errors.New("the informer has stopped")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WaitForStop implements controller.StoppingSource.
func (s *source[T]) WaitForStop() { s.running.Wait() }

// endregion source

// region tell

// enqueue makes a request of an object.
func enqueue[T informer.Object](to anyQueue, object T, reason string, priority int) {
	to.(queue).AddWithOpts(workqueue.AddOpts{Priority: &priority, Reason: reason}, reconcile.Request{NamespacedName: informer.KeyOf(object)})
}

// wake wakes those that wait for an object.
func wake[T informer.Object](kind string) func(anyQueue, T, string, int) {
	return func(to anyQueue, object T, _ string, _ int) {
		to.(reconcile.Waker).Wake(reconcile.ObjectRef{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()})
	}
}

// endregion tell

// String is for messages.
func (s *source[T]) String() string { return fmt.Sprintf("informer of %T", *new(T)) }
