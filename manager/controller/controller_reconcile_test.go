package controller

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// logged collects lines. It is used by several goroutines.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) logger(verbosity int) logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, args)
	}, funcr.Options{Verbosity: verbosity})
}

func (l *logged) containing(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

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
				var log logged
				var calls calls
				r, queue := start(t, Options{Logger: log.logger(0), Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
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
				require.Len(t, log.containing("Reconciler error"), 1)
				require.Len(t, log.containing(c.says), 1)
			})
		})
	}
}

// Where the panic was is the first question.
func TestALoggedPanicHasItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		c, queue := start(t, Options{Logger: log.logger(0), MaxRetries: 1, Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			panic("a bug")
		})})
		queue.Add(req("web"))
		synctest.Wait()
		require.Len(t, log.containing("controller_reconcile_test.go"), 1)
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
	for _, c := range []struct{ how, says string }{{"panic", "panic: a bug"}, {"goexit", "runtime.Goexit"}} {
		t.Run(c.how, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWithoutRecoverPanicAPanicEndsTheProcess$")
			command.Env = append(os.Environ(), crashVariable+"="+c.how)
			output, err := command.CombinedOutput()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the process goes on; it said: %s", output)
			require.Equal(t, 2, exit.ExitCode(), "it did not crash by a panic: %s", output)
			require.Contains(t, string(output), c.says)
			require.Contains(t, string(output), "controller.crash", "the stack must show the reconciler")
			require.NotContains(t, string(output), "Reconciler error", "it is not an error that is retried")
		})
	}
}

func crash(how string) {
	c, err := NewUnmanaged("crash", Options{RecoverPanic: new(false), Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
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
		var log logged
		var cause error
		c, queue := start(t, Options{ReconciliationTimeout: time.Minute, Logger: log.logger(0), Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
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
		require.Len(t, log.containing("ReconciliationTimeout of 1m0s"), 1, "\"context deadline exceeded\" does not say whose deadline")
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

// Reconcile is the way to call a reconciler as a worker does, in tests for instance.
func TestReconcileReturnsWhatTheReconcilerReturns(t *testing.T) {
	want := reconcile.Outcome{Result: reconcile.Result{RequeueAfter: time.Minute}, Err: errBroken}
	c := prepare(t, Options{Reconciler: new(calls).answering(want)})
	defer freeName(t.Name())
	result, err := c.Reconcile(t.Context(), req("web"))
	require.Equal(t, want, reconcile.Outcome{Result: result, Err: err})
}

// Somebody who reads a log wants to find all lines of one reconcile, and why it happened.
func TestAReconcilerFindsItsLoggerIDAndReasonsInItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		var ids []string
		var reasons []workqueue.Causes
		c, queue := start(t, Options{Logger: log.logger(0), Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			ids, reasons = append(ids, string(ReconcileIDFromContext(ctx))), append(reasons, reconcile.ReasonsFrom(ctx))
			logr.FromContextOrDiscard(ctx).Info("looking")
			return reconcile.Result{}, errBroken
		})})
		queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(workqueue.AddOpts{Reason: "Pod changed"}, req("web"))
		time.Sleep(6 * time.Millisecond) // and the retry
		require.NoError(t, c.end())
		require.Equal(t, []string{"Pod changed"}, reasons[0].Reasons())
		require.Equal(t, []string{"tried again"}, reasons[1].Reasons())
		require.Len(t, log.containing(ids[0]), 2, "the reconciler's line and the error")
		require.NotEqual(t, ids[0], ids[1], "each call has its own")
		looking := log.containing("looking")[0]
		require.Contains(t, looking, `"controller"="`+t.Name()+`"`)
		require.Contains(t, looking, `"namespace"="shop" "name"="web"`)
		require.Contains(t, log.containing("Reconciler error")[0], `"reasons"="Pod changed"`)
		require.Empty(t, ReconcileIDFromContext(t.Context()))
	})
}

func TestALogConstructorIsUsedForEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		c, queue := start(t, Options{Reconciler: new(calls).answering(reconcile.Outcome{Err: errors.New("no")}), LogConstructor: func(r *reconcile.Request) logr.Logger {
			if r == nil {
				return log.logger(0).WithValues("about", "nothing")
			}
			return log.logger(0).WithValues("about", r.Name)
		}})
		queue.Add(req("web"))
		synctest.Wait()
		require.Len(t, log.containing(`"about"="web"`), 1)
		require.NotEmpty(t, log.containing(`"about"="nothing"`))
		c.GetLogger().Info("hello")
		require.Contains(t, log.containing("hello")[0], `"about"="nothing"`)
		require.NoError(t, c.end())
	})
}

// Most calls log nothing, so their loggers are never made. Those that log may do so from several
// goroutines.
func TestALoggerIsMadeForThoseWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		var log logged
		c, queue := start(t, Options{
			Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				if r.Name == "silent" {
					return reconcile.Result{}, nil
				}
				var all sync.WaitGroup
				for range 3 {
					all.Go(func() {
						ctx, cancel := context.WithCancel(ctx)
						defer cancel()
						logr.FromContextOrDiscard(ctx).Info("looking", "id", ReconcileIDFromContext(ctx))
					})
				}
				all.Wait()
				return reconcile.Result{}, nil
			}),
			LogConstructor: func(r *reconcile.Request) logr.Logger {
				if r != nil {
					made++
				}
				return log.logger(0)
			},
		})
		queue.Add(req("silent"))
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, c.end())
		require.Equal(t, 1, made)
		lines := log.containing("looking")
		require.Len(t, lines, 3)
		require.Equal(t, lines[0], lines[1])
		require.Equal(t, lines[0], lines[2])
	})
}

// Whoever turns the details on wants to see each call.
func TestDetailsAreLoggedForThoseWhoWantThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		c, queue := start(t, Options{Logger: log.logger(5), Reconciler: new(calls).answering(
			reconcile.Outcome{}, reconcile.Outcome{Err: errWaiting}, reconcile.Outcome{Err: errWaiting, Result: reconcile.Result{RequeueAfter: 1}})})
		queue.Add(req("web"))
		synctest.Wait()
		require.Len(t, log.containing(`"msg"="Reconciling"`), 1)
		require.Len(t, log.containing(`"result"="success"`), 1)
		queue.Add(req("web"))
		synctest.Wait()
		require.Len(t, log.containing("Waiting for another object"), 2)
		require.Len(t, log.containing("the latter is ignored"), 1)
		require.NoError(t, c.end())
	})
}

func TestWithoutRecoverPanicAnErrorIsStillRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{RecoverPanic: new(false), Reconciler: calls.answering(reconcile.Outcome{Err: errBroken}, reconcile.Outcome{})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.NoError(t, c.end())
		require.Len(t, calls.all(), 2)
	})
}

func TestAGivingUpIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		c, queue := start(t, Options{Logger: log.logger(0), MaxRetries: 1, Reconciler: new(calls).answering(reconcile.Outcome{Err: errBroken})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.NoError(t, c.end())
		require.Len(t, log.containing("Reconciler error"), 2)
		require.Len(t, log.containing("giving up until the next event"), 1)
	})
}
