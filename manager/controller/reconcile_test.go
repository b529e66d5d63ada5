package controller

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// A bug that shows for one object must not end the work for all others.
func TestAPanicIsRecoveredCountedAndRetried(t *testing.T) {
	for _, c := range []struct {
		name, says string
		end        func()
	}{
		{"a panic", "panic: a bug [recovered]", func() { panic("a bug") }},
		{"a panic with an error that means something", "panic: terminal error: broken [recovered]", func() { panic(errPermanent) }},
		{"the end of the goroutine", "runtime.Goexit", runtime.Goexit},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Collected
				var calls calls
				r, queue := start(t, Options{Logger: log.Logger(0), Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
					if calls.add(r) == 0 {
						c.end()
					}
					return reconcile.Result{}, nil
				})})
				queue.Add(req("web"))
				time.Sleep(time.Second)
				require.Equal(t, []string{"web", "web"}, calls.all(), "it must be tried again, by a worker that is still there")
				require.NoError(t, r.end())
				require.Equal(t, []string{"1"}, measured(t, "controller_runtime_reconcile_panics_total"))
				require.Equal(t, []string{"1"}, measured(t, "controller_runtime_reconcile_errors_total"))
				require.Len(t, log.With("Reconciler error"), 1)
				require.Len(t, log.With(c.says), 1)
			})
		})
	}
}

// Where the panic was is the first question.
func TestALoggedPanicHasItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		c, queue := start(t, Options{Logger: log.Logger(0), MaxRetries: 1, Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			panic("a bug")
		})})
		queue.Add(req("web"))
		synctest.Wait()
		require.Contains(t, log.With("Reconciler error")[0], "reconcile_test.go")
		require.NoError(t, c.end())
	})
}

const crashVariable = "LOOPWRIGHT_TEST_CRASH"

// Somebody who asks for a crash wants the process to start over, and not to go on with state
// that a panic left halfway.
func TestWithoutRecoverPanicAPanicEndsTheProcess(t *testing.T) {
	if how := os.Getenv(crashVariable); how != "" {
		crash(how)
		return
	}
	for _, c := range []struct{ how, says string }{{"panic", "panic: a bug"}, {"goexit", "panic: the reconciler ended its goroutine"}} {
		t.Run(c.how, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWithoutRecoverPanicAPanicEndsTheProcess$")
			command.Env = append(os.Environ(), crashVariable+"="+c.how)
			output, err := command.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the process goes on; it said: %s", output)
			require.Equal(t, 2, exit.ExitCode(), "it did not crash by a panic: %s", output)
			require.Contains(t, string(output), c.says)
			require.Contains(t, string(output), "controller.crash", "the stack must show the reconciler")
			require.Contains(t, string(output), "namespace=shop name=web", "the log must say for which object")
			require.NotContains(t, string(output), "Reconciler error", "it is not an error that is retried")
			require.NotContains(t, string(output), "Observed a panic", "a crash is reported once, by the crash")
		})
	}
}

func crash(how string) {
	logger := logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
	c, err := NewUnmanaged("crash", Options{Logger: logger, RecoverPanic: new(false), Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		if how == "goexit" {
			runtime.Goexit()
		}
		panic("a bug")
	})})
	if err != nil {
		return
	}
	_ = c.Watch(sourceFunc(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(req("web"))
		return nil
	}))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = c.Start(ctx)
}

// A reconciler that hangs keeps its worker from all other objects.
func TestATimeoutEndsTheContextWithACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		var cause error
		c, queue := start(t, Options{ReconciliationTimeout: time.Minute, Logger: log.Logger(0), Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			if cause != nil {
				return reconcile.Result{}, nil
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return reconcile.Result{}, ctx.Err()
		})})
		queue.Add(req("web"))
		time.Sleep(2 * time.Minute)
		require.NoError(t, c.end())
		require.EqualError(t, cause, "the reconcile took longer than the ReconciliationTimeout of 1m0s")
		require.Equal(t, []string{"1"}, measured(t, "controller_runtime_reconcile_timeouts_total"))
		require.Len(t, log.With("ReconciliationTimeout of 1m0s"), 1, "\"context deadline exceeded\" does not say whose deadline")
	})
}

// A timer for each call would stay for as long as the timeout, with all that belongs to the call.
func TestTheContextOfATimeoutEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given context.Context
		r := prepare(t, Options{ReconciliationTimeout: time.Hour, Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			given = ctx
			return reconcile.Result{}, ctx.Err()
		})})
		defer freeName(t.Name())
		_, err := r.Reconcile(t.Context(), req("web"))
		require.NoError(t, err)
		require.ErrorIs(t, given.Err(), context.Canceled)
	})
}

func TestOnlyTheTimeoutOfTheControllerIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, Options{ReconciliationTimeout: time.Minute, Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			if r.Name == "slow" {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				<-ctx.Done()
				return reconcile.Result{}, ctx.Err()
			}
			<-ctx.Done()
			return reconcile.Result{}, ctx.Err()
		})})
		_, err := c.Reconcile(t.Context(), req("slow"))
		require.EqualError(t, err, "context deadline exceeded", "the reconciler's own deadline")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Reconcile(ctx, req("web"))
		require.EqualError(t, err, "context deadline exceeded", "the caller's deadline")
		require.Equal(t, []string{"0"}, measured(t, "controller_runtime_reconcile_timeouts_total"))
		_, err = c.Reconcile(t.Context(), req("web"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "ReconciliationTimeout")
		require.Equal(t, []string{"1"}, measured(t, "controller_runtime_reconcile_timeouts_total"))
		require.NoError(t, c.end())
	})
}

// What the reconciler says about a timeout is not changed, unless it says nothing.
func TestATimeoutIsAddedToAnErrorThatDoesNotNameIt(t *testing.T) {
	for _, c := range []struct {
		name string
		says func(ctx context.Context) error
		want string
	}{
		{"the context's error", func(ctx context.Context) error { return ctx.Err() }, "context deadline exceeded: the reconcile took longer than the ReconciliationTimeout of 1m0s"},
		{"the cause", context.Cause, "the reconcile took longer than the ReconciliationTimeout of 1m0s"},
		{"both", func(ctx context.Context) error { return errors.Join(ctx.Err(), context.Cause(ctx)) }, "context deadline exceeded\nthe reconcile took longer than the ReconciliationTimeout of 1m0s"},
		{"another error", func(context.Context) error { return errBroken }, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := prepare(t, Options{ReconciliationTimeout: time.Minute, Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					<-ctx.Done()
					return reconcile.Result{}, c.says(ctx)
				})})
				defer freeName(t.Name())
				_, err := r.Reconcile(t.Context(), req("web"))
				require.EqualError(t, err, c.want)
				require.Equal(t, []string{"1"}, measured(t, "controller_runtime_reconcile_timeouts_total"))
			})
		})
	}
}

// Reconcile is the way to call a reconciler as a worker does, in tests for instance.
func TestReconcileReturnsWhatTheReconcilerReturns(t *testing.T) {
	want := returns{Result: reconcile.Result{RequeueAfter: time.Minute}, Err: errBroken}
	c := prepare(t, Options{Reconciler: new(calls).answering(want)})
	defer freeName(t.Name())
	result, err := c.Reconcile(t.Context(), req("web"))
	require.Equal(t, want, returns{Result: result, Err: err})
}

func TestWithoutRecoverPanicAnErrorIsStillRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{RecoverPanic: new(false), Reconciler: calls.answering(returns{Err: errBroken}, returns{})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.NoError(t, c.end())
		require.Len(t, calls.all(), 2)
	})
}

// Crash reporters hook in there. A panic that is recovered is one all the same, and somebody has
// to hear of it.
func TestTheHandlersOfPanicsAreCalled(t *testing.T) {
	before := utilruntime.PanicHandlers
	defer func() { utilruntime.PanicHandlers = before }()
	var reported []any
	utilruntime.PanicHandlers = []func(context.Context, any){func(ctx context.Context, value any) {
		reported = append(reported, value, ReconcileIDFromContext(ctx) != "")
	}}
	synctest.Test(t, func(t *testing.T) {
		c, queue := start(t, Options{Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			if r.Name == "goexit" {
				runtime.Goexit()
			}
			panic("a bug")
		}), MaxRetries: 1})
		queue.Add(req("web"))
		queue.Add(req("goexit"))
		synctest.Wait()
		require.NoError(t, c.end())
	})
	require.Equal(t, []any{"a bug", true}, reported, "the end of a goroutine is no panic")
}
