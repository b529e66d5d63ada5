package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
)

// Reconcile implements Controller. It calls the user's code: with the timeout, and so that its
// panic is an error.
func (c *controlLoop) Reconcile(
	ctx context.Context, request reconcile.Request,
) (result reconcile.Result, err error) {
	if limit := c.options.ReconciliationTimeout; limit > 0 {
		timeout := &timeoutError{limit: limit}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, timeout)
		defer cancel()
		defer func() { err = c.timedOut(ctx, timeout, err) }()
	}
	returned := false
	defer func() {
		if !returned {
			err = c.panicked(ctx, recover())
		}
	}()
	result, err = c.options.Reconciler.Reconcile(ctx, request)
	returned = true
	return result, err
}

// panicked is called with what was recovered, or with nil if the reconciler calls
// runtime.Goexit. Then nothing can be returned, and process settles the request while its
// goroutine ends.
func (c *controlLoop) panicked(ctx context.Context, value any) error {
	c.meter.panics.Inc()
	if value == nil {
		value = errGoexit
	}
	if !*c.options.RecoverPanic {
		logr.FromContextOrDiscard(ctx).Info("The reconciler panicked", "panic", value)
		panic(value)
	}
	if value != errGoexit {
		for _, report := range utilruntime.PanicHandlers { // crash reporters hook in there
			report(ctx, value)
		}
	}
	return &panicError{value: value, stack: debug.Stack()}
}

// panicError is a panic that was recovered. Its value is not unwrapped: a reconciler that panics
// with a TerminalError has not returned it.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v [recovered]", p.value) }

var errGoexit = errors.New("the reconciler ended its goroutine by runtime.Goexit (t.FailNow " +
	"does so)")

// inspectable returns an error that can be looked into. A nil pointer may be an error, which is a
// well-known mistake, and then its Error or Unwrap may panic. So may any other: the log would call
// it where nobody recovers.
func inspectable(err error) (safe error) {
	if err == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			safe = fmt.Errorf("the reconciler returned an error of type %T that cannot be "+
				"looked into: %v", err, v)
		}
	}()
	if fmt.Sprint(err) == "<nil>" {
		return fmt.Errorf("the reconciler returned a nil %T, which is not the same as no error",
			err)
	}
	reconcile.WaitsFor(err)
	_ = errors.Is(err, errTerminal) // looks into all of it
	_ = err.Error()
	return err
}

// timeoutError is the cause with which ReconciliationTimeout ends a context.
type timeoutError struct{ limit time.Duration }

func (t *timeoutError) Error() string {
	return fmt.Sprintf("the reconcile took longer than the ReconciliationTimeout of %s", t.limit)
}

// timedOut counts a timeout if it is ours. The context may also have ended with the controller,
// or the reconciler may have had a deadline of its own. "Context deadline exceeded" says little:
// the cause is added to it.
func (c *controlLoop) timedOut(ctx context.Context, timeout *timeoutError, err error) error {
	if context.Cause(ctx) != error(timeout) {
		return err
	}
	c.meter.timeouts.Inc()
	err = inspectable(err)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, timeout) {
		return fmt.Errorf("%w: %w", err, timeout)
	}
	return err
}

// contextFor is what a reconciler gets as its context: that of the workers, with an ID and a logger
// for this call, and the reasons of the request.
func (c *controlLoop) contextFor(ctx context.Context, w work) context.Context {
	id := uuid.NewUUID()
	ctx = context.WithValue(ctx, reconcileIDKey{}, id)
	if c.options.Recorder.On() {
		ctx = trace.WithReconcile(ctx, c.name, c.options.Kind, w.Item.Namespace, w.Item.Name)
	}
	ctx = logr.NewContext(ctx, c.options.LogConstructor(&w.Item).WithValues("reconcileID", id))
	return reconcile.WithReasons(ctx, w.Causes)
}

// reconcileIDKey is what ReconcileIDFromContext asks a context for.
type reconcileIDKey struct{}

// ReconcileIDFromContext returns the ID of the call of the reconciler to which the context
// belongs. It is in each line of the logger that the reconciler finds in its context. Without
// one, it is empty.
func ReconcileIDFromContext(ctx context.Context) types.UID {
	id, _ := ctx.Value(reconcileIDKey{}).(types.UID)
	return id
}
