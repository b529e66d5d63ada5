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

// Result says when a successful reconcile wants to be called again.
type Result struct {
	RequeueAfter time.Duration // 0: when something changes
}

// Reconciler brings one object's world closer to what the object asks for. It is told
// which object, and not what happened: it has to find out what is, and must come to the
// same end however often it is called.
type Reconciler interface {
	Reconcile(ctx context.Context, req Request) (Result, error)
}

// ReconcilerFunc is a function as a Reconciler.
type ReconcilerFunc func(ctx context.Context, req Request) (Result, error)

// Reconcile calls f.
func (f ReconcilerFunc) Reconcile(ctx context.Context, req Request) (Result, error) {
	return f(ctx, req)
}

// TerminalError marks an error that no retry will cure. It is logged once.
func TerminalError(err error) error { return &terminalError{err} }

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }

// Controller takes requests from its queue and calls the Reconciler with them.
//
// Guarantees: no two workers have the same request at one time. An error or a panic
// brings the request back, later each time. When Run returns, no worker is running.
type Controller struct {
	Name       string
	Reconciler Reconciler
	Queue      *RetryQueue
	Workers    int             // 0 is 1
	Timeout    time.Duration   // of one reconcile; 0 is none
	Trace      *trace.Recorder // nil records nothing

	// WaitFor are waited for before the first worker starts: a reconciler that reads a
	// half filled cache would create what is there already.
	WaitFor []func(context.Context) error
}

// NewController returns a controller with an empty queue. It does nothing until Run.
func NewController(name string, r Reconciler) *Controller {
	return &Controller{Name: name, Reconciler: r, Queue: NewRetryQueue(name)}
}

// Run works until ctx ends. Reconciles that are running then see their context end.
func (c *Controller) Run(ctx context.Context) error {
	defer c.Queue.ShutDown()
	for _, wait := range c.WaitFor {
		if err := wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil // told to stop while waiting: not a failure
			}
			return fmt.Errorf("controller %s: %w", c.Name, err)
		}
	}
	defer context.AfterFunc(ctx, c.Queue.ShutDown)()
	var workers sync.WaitGroup
	for range max(c.Workers, 1) {
		workers.Go(func() {
			for c.processNextWorkItem(ctx) {
			}
		})
	}
	workers.Wait()
	return nil
}

func (c *Controller) processNextWorkItem(ctx context.Context) bool {
	req, shutdown := c.Queue.Get()
	if shutdown || ctx.Err() != nil {
		return false
	}
	defer c.Queue.Done(req)
	result, err := c.reconcile(ctx, req)
	var terminal *terminalError
	switch {
	case errors.As(err, &terminal):
		c.Queue.Forget(req)
	case err != nil:
		c.Queue.AddRateLimited(req)
	default:
		c.Queue.Forget(req)
		if result.RequeueAfter > 0 {
			c.Queue.AddAfter(req, result.RequeueAfter)
		}
	}
	return true
}

// reconcile calls the Reconciler once, and makes an error of a panic.
func (c *Controller) reconcile(ctx context.Context, req Request) (result Result, err error) {
	began := time.Now()
	c.record(trace.ReconcileStart, req, trace.Event{})
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
		end := trace.Event{Outcome: trace.Succeeded, Took: time.Since(began)}
		if err != nil {
			end.Outcome, end.Reason = trace.Failed, err.Error()
			slog.Error("reconcile failed", "controller", c.Name, "request", req, "err", err)
		} else if result.RequeueAfter > 0 {
			end.Outcome, end.Reason = trace.Requeued, result.RequeueAfter.String()
		}
		c.record(trace.ReconcileEnd, req, end)
	}()
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	return c.Reconciler.Reconcile(ctx, req)
}

func (c *Controller) record(kind trace.Kind, req Request, e trace.Event) {
	e.Layer, e.Kind, e.Namespace, e.Name = c.Name, kind, req.Namespace, req.Name
	c.Trace.Record(e)
}
