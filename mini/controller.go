package mini

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Result is the answer of a reconcile that has succeeded.
type Result struct {
	RequeueAfter time.Duration // reconcile again after this time; 0 waits for a change
}

// Reconciler makes the world what one object asks for. The controller tells it which
// object, but not what has happened. So it compares what is with what should be, and a
// second call in a row finds nothing left to do.
type Reconciler interface {
	Reconcile(ctx context.Context, req Request) (Result, error)
}

// ReconcilerFunc is a function as a Reconciler.
type ReconcilerFunc func(ctx context.Context, req Request) (Result, error)

// Reconcile calls f.
func (f ReconcilerFunc) Reconcile(ctx context.Context, req Request) (Result, error) {
	return f(ctx, req)
}

// TerminalError marks an error that a retry cannot cure, such as an invalid spec. The
// controller logs it and waits for the next change.
func TerminalError(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }

// Controller takes requests from its queue and calls the Reconciler with them.
//
// Guarantees: two workers never have the same request at the same time. After an error
// or a panic, the controller tries again, with a pause that grows. When Run returns, no
// reconcile is running.
type Controller struct {
	Name       string
	Reconciler Reconciler
	Queue      *RetryQueue
	Workers    int             // reconciles that run at the same time; 0 is 1
	Timeout    time.Duration   // ends the context of a reconcile; 0 is never
	Trace      *trace.Recorder // nil records nothing

	// WaitFor runs before the first reconcile. Watch adds the informers' first lists:
	// with a cache that is half full, a Reconciler would create objects that exist.
	WaitFor []func(context.Context) error
}

// NewController returns a controller with an empty queue. It does nothing until Run.
func NewController(name string, r Reconciler) *Controller {
	return &Controller{Name: name, Reconciler: r, Queue: NewRetryQueue(name)}
}

// Run starts the workers and blocks until ctx ends. The end of ctx also ends the contexts
// of the reconciles that are running; Run returns when they have. What is left in the
// queue is dropped: after a restart, the first list brings every object again.
func (c *Controller) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	defer c.Queue.ShutDown() // wakes workers that wait in Get
	for _, wait := range c.WaitFor {
		err := wait(ctx)
		if ctx.Err() != nil {
			return nil // told to stop while waiting: that is no failure
		}
		if err != nil {
			return fmt.Errorf("starting controller %s: %w", c.Name, err)
		}
	}
	for range max(c.Workers, 1) {
		workers.Go(func() {
			for c.processNextWorkItem(ctx) {
			}
		})
	}
	<-ctx.Done()
	return nil
}

// processNextWorkItem reconciles one request. It returns false when the worker is to end.
func (c *Controller) processNextWorkItem(ctx context.Context) bool {
	req, shutdown := c.Queue.Get()
	if shutdown {
		return false
	}
	defer c.Queue.Done(req)
	if ctx.Err() != nil {
		return false
	}
	c.record(req, trace.Event{Kind: trace.ReconcileStart})
	began := time.Now()
	result, err := c.reconcile(ctx, req)
	end := trace.Event{
		Kind: trace.ReconcileEnd, Outcome: trace.Succeeded, Took: time.Since(began),
	}
	if err != nil {
		end.Outcome, end.Reason = trace.Failed, err.Error()
		slog.Error("reconcile failed", "controller", c.Name, "request", req, "err", err)
	}
	var terminal *terminalError
	switch {
	case errors.As(err, &terminal):
		end.Outcome = trace.GivenUp
		c.Queue.Forget(req)
	case err != nil:
		c.Queue.AddRateLimited(req)
	case result.RequeueAfter > 0:
		end.Outcome, end.Reason = trace.Requeued, "in "+result.RequeueAfter.String()
		c.Queue.Forget(req)
		c.Queue.AddAfter(req, result.RequeueAfter)
	default:
		c.Queue.Forget(req)
	}
	c.record(req, end)
	return true
}

// reconcile calls the Reconciler. A panic becomes an error, because it must not end the
// work on all other objects.
func (c *Controller) reconcile(
	ctx context.Context, req Request,
) (result Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	ctx = trace.WithReconcile(ctx, c.Name, "", req.Namespace, req.Name)
	return c.Reconciler.Reconcile(ctx, req)
}

func (c *Controller) record(req Request, e trace.Event) {
	e.Layer, e.Namespace, e.Name = c.Name, req.Namespace, req.Name
	c.Trace.Record(e)
}
