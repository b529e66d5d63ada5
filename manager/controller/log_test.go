package controller

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
	"github.com/loopwright/loopwright/workqueue"
)

// Somebody who reads a log wants to find all lines of one reconcile, and why it happened.
func TestAReconcilerFindsItsLoggerIDAndReasonsInItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		var ids []string
		var reasons []workqueue.Causes
		c, queue := start(t, Options{Logger: log.Logger(0), Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			ids, reasons = append(ids, string(ReconcileIDFromContext(ctx))), append(reasons, reconcile.ReasonsFrom(ctx))
			logr.FromContextOrDiscard(ctx).Info("looking")
			return reconcile.Result{}, errBroken
		})})
		queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(workqueue.AddOpts{Reason: "Pod changed"}, req("web"))
		time.Sleep(6 * time.Millisecond) // and the retry
		require.NoError(t, c.end())
		require.Equal(t, []string{"Pod changed"}, reasons[0].Reasons())
		require.Equal(t, []string{"tried again"}, reasons[1].Reasons())
		require.Len(t, log.With(ids[0]), 2, "the reconciler's line and the error")
		require.NotEqual(t, ids[0], ids[1], "each call has its own")
		looking := log.With("looking")[0]
		require.Contains(t, looking, `"controller"="`+t.Name()+`"`)
		require.Contains(t, looking, `"namespace"="shop" "name"="web"`)
		require.Contains(t, log.With("Reconciler error")[0], `"reasons"="Pod changed"`)
		require.Empty(t, ReconcileIDFromContext(t.Context()))
	})
}

func TestALogConstructorIsUsedForEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		c, queue := start(t, Options{Reconciler: new(calls).answering(returns{Err: errors.New("no")}), LogConstructor: func(r *reconcile.Request) logr.Logger {
			if r == nil {
				return log.Logger(0).WithValues("about", "nothing")
			}
			return log.Logger(0).WithValues("about", r.Name)
		}})
		queue.Add(req("web"))
		synctest.Wait()
		require.Len(t, log.With(`"about"="web"`), 1)
		require.NotEmpty(t, log.With(`"about"="nothing"`))
		c.GetLogger().Info("hello")
		require.Contains(t, log.With("hello")[0], `"about"="nothing"`)
		require.NoError(t, c.end())
	})
}

// Whoever turns the details on wants to see each call.
func TestDetailsAreLoggedForThoseWhoWantThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		c, queue := start(t, Options{Logger: log.Logger(5), Reconciler: new(calls).answering(
			returns{}, returns{Err: errWaiting}, returns{Err: errWaiting, Result: reconcile.Result{RequeueAfter: 1}})})
		queue.Add(req("web"))
		synctest.Wait()
		require.Len(t, log.With(`"level"=5 "msg"="Reconciling"`), 1)
		require.Len(t, log.With(`"result"="success"`), 1)
		require.Len(t, log.With(`"level"=5 "msg"="Reconciled"`), 1)
		queue.Add(req("web"))
		synctest.Wait()
		require.Len(t, log.With(`"level"=1 "msg"="Waiting for another object"`), 2)
		require.Len(t, log.With("the latter is ignored"), 1)
		require.NoError(t, c.end())
	})
}

func TestAGivingUpIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		c, queue := start(t, Options{Logger: log.Logger(0), MaxRetries: 1, Reconciler: new(calls).answering(returns{Err: errBroken})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.NoError(t, c.end())
		require.Len(t, log.With("Reconciler error"), 2)
		require.Len(t, log.With("giving up until the next event"), 1)
	})
}

// A program makes its controllers, and sets its logger when it has read its flags.
func TestTheLoggerIsMadeWhenTheControllerStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		c := prepare(t, Options{Reconciler: new(calls).answering(), LogConstructor: func(*reconcile.Request) logr.Logger {
			made++
			return logr.Discard()
		}})
		require.Zero(t, made)
		c.begin()
		synctest.Wait()
		require.NoError(t, c.end())
		require.NotZero(t, made)
	})
}

func TestWithoutALoggerItIsTheProgramsOne(t *testing.T) {
	options := Options{Reconciler: new(calls).answering()}
	require.NoError(t, options.complete("web"))
	text := logtest.Read(t) // main may set it later
	options.LogConstructor(nil).Info("hello")
	require.Contains(t, text.String(), "msg=hello controller=web")
}

// nilError is an error of which somebody may return a nil pointer.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// It is a well-known mistake to return a nil pointer as an error. It must not end the process.
func TestAnErrorThatCannotBeReadIsLoggedAndRetried(t *testing.T) {
	for _, c := range []struct {
		name, says string
		err        error
		calls      int
	}{
		{"alone", "a nil *controller.nilError", (*nilError)(nil), 2},
		{"in a terminal error", "terminal error: <nil>", reconcile.TerminalError((*nilError)(nil)), 1},
		{"with an Unwrap", "a nil *fs.PathError", (*fs.PathError)(nil), 2},
		{"with an Unwrap, in a terminal error", "cannot be looked into", reconcile.TerminalError((*fs.PathError)(nil)), 2},
		{"of a type whose Error panics", "cannot be looked into", brokenError{}, 2},
		{"of a type whose Error panics, and wrapped", "PANIC", fmt.Errorf("reading: %w", brokenError{}), 2},
		{"with an Unwrap, and wrapped", "cannot be looked into", fmt.Errorf("reading: %w", error((*fs.PathError)(nil))), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Collected
				var calls calls
				recorder := trace.New(0)
				r, queue := start(t, Options{Logger: log.Logger(0), Recorder: recorder, Reconciler: calls.answering(returns{Err: c.err}, returns{})})
				queue.Add(req("web"))
				time.Sleep(time.Second)
				require.NoError(t, r.end())
				require.Len(t, calls.all(), c.calls)
				require.Len(t, log.With(c.says), 1)
				ends := trace.Filter{Kinds: []trace.Kind{trace.ReconcileEnd}}.Select(recorder.Events())
				require.Contains(t, ends[0].Reason, c.says)
			})
		})
	}
}

// A reconciler that runs out of time may return a nil pointer, too. It is asked whether it is the timeout.
func TestANilPointerAfterATimeoutIsLoggedAndRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		var calls calls
		r, queue := start(t, Options{Logger: log.Logger(0), ReconciliationTimeout: time.Second, Reconciler: reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			if calls.add(request) > 0 {
				return reconcile.Result{}, nil
			}
			<-ctx.Done()
			return reconcile.Result{}, (*fs.PathError)(nil)
		})})
		queue.Add(req("web"))
		time.Sleep(time.Minute)
		require.NoError(t, r.end())
		require.Len(t, calls.all(), 2)
		require.Len(t, log.With("a nil *fs.PathError"), 1)
	})
}

// brokenError has a bug where nobody looks for one.
type brokenError struct{}

func (brokenError) Error() string { panic("no text") }
