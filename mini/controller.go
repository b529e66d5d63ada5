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

// Result is what a successful reconcile returns.
type Result struct {
	RequeueAfter time.Duration // reconcile again after this time; 0: at the next change
}

// Reconciler makes the world look the way one object wants it. The controller tells it
// which object, but not what has happened. So the Reconciler compares what there is with
// what there should be, and if you call it twice in a row, the second call has nothing to
// do.
type Reconciler interface {
	Reconcile(ctx context.Context, req Request) (Result, error)
}

// ReconcilerFunc makes a Reconciler of a function.
type ReconcilerFunc func(ctx context.Context, req Request) (Result, error)

// Reconcile calls f.
func (f ReconcilerFunc) Reconcile(ctx context.Context, req Request) (Result, error) {
	return f(ctx, req)
}

// TerminalError marks an error that no retry will cure, such as an invalid spec. The
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
// Guarantees: two workers never have the same request at the same time. After an error or
// a panic, the controller tries again, after pauses that grow. When Run returns, no
// reconcile is running any more.
type Controller struct {
	Name       string
	Reconciler Reconciler
	Queue      *RetryQueue
	Workers    int             // how many reconciles run at the same time; 0 means 1
	Timeout    time.Duration   // a reconcile's context ends after this time; 0: never
	Trace      *trace.Recorder // nil records nothing

	// WaitFor is called before the first reconcile. Watch uses it to wait for the
	// informers' first lists: with a cache that's half full, a Reconciler would create
	// objects that exist.
	WaitFor []func(context.Context) error
}

// NewController returns a controller with an empty queue. It starts with Run.
func NewController(name string, r Reconciler) *Controller {
	return &Controller{Name: name, Reconciler: r, Queue: NewRetryQueue(name)}
}

// Run starts the workers and blocks until ctx ends. The contexts of running reconciles
// end with ctx; Run waits for them, and then returns. It drops what's left in the queue,
// because after a restart, the first list brings every object again.
func (c *Controller) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	defer workers.Wait()
	defer c.Queue.ShutDown() // wakes workers that wait in Get
	for _, wait := range c.WaitFor {
		err := wait(ctx)
		if ctx.Err() != nil {
			return nil // stopped while waiting: that's not a failure
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

// processNextWorkItem reconciles one request. It returns false if the worker should end.
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

// reconcile calls the Reconciler. A panic becomes an error, because it mustn't end the
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
