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

	"github.com/loopwright/loopwright/manager/internal/requestname"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Reconcile implements Controller. It calls the user's code with the timeout, and turns its panic
// into an error.
func (c *controlLoop[request]) Reconcile(
	ctx context.Context, req request,
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
	result, err = c.options.Reconciler.Reconcile(ctx, req)
	returned = true
	return result, err
}

// panicked is called with the recovered value, or with nil if the reconciler called runtime.Goexit.
// In that case nothing can be returned, and process settles the request while its goroutine ends.
func (c *controlLoop[request]) panicked(ctx context.Context, value any) error {
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

// panicError is a panic that was recovered. Its value isn't unwrapped: a reconciler that panics
// with a TerminalError hasn't returned it.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v [recovered]", p.value) }

var errGoexit = errors.New("the reconciler ended its goroutine by runtime.Goexit (t.FailNow " +
	"does so)")

// inspectable returns an error that is safe to look into. A nil pointer may be an error, which is a
// well-known mistake, and its Error or Unwrap may panic. Any other error's may, too, and the log
// would call it where nobody recovers.
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

// timedOut counts the timeout if it was ours. The context may also have ended with the controller,
// or the reconciler may have set its own deadline. "Context deadline exceeded" doesn't say which,
// so the cause is added.
func (c *controlLoop[request]) timedOut(ctx context.Context, timeout *timeoutError, err error) error {
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

// contextFor returns the context for a reconciler: the workers' context with an ID and a logger for
// this call, and the reasons of the request.
func (c *controlLoop[request]) contextFor(
	ctx context.Context, w workqueue.Work[request],
) context.Context {
	id := uuid.NewUUID()
	ctx = context.WithValue(ctx, reconcileIDKey{}, id)
	if c.options.Recorder.On() {
		namespace, name := requestname.Of(&w.Item)
		ctx = trace.WithReconcile(ctx, c.name, c.options.Kind, namespace, name)
	}
	ctx = logr.NewContext(ctx, c.options.LogConstructor(&w.Item).WithValues("reconcileID", id))
	return reconcile.WithReasons(ctx, w.Causes)
}

// reconcileIDKey is the key of ReconcileIDFromContext.
type reconcileIDKey struct{}

// ReconcileIDFromContext returns the ID of the reconciler call that the context belongs to, or "".
// The ID is in each line of the logger that the reconciler finds in its context.
func ReconcileIDFromContext(ctx context.Context) types.UID {
	id, _ := ctx.Value(reconcileIDKey{}).(types.UID)
	return id
}
