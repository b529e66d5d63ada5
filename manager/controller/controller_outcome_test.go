package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
)

var (
	errBroken    = errors.New("broken")
	errPermanent = reconcile.TerminalError(errBroken)
	secret       = reconcile.ObjectRef{Kind: "Secret", Namespace: "shop", Name: "password"}
	errWaiting   = reconcile.WaitFor(secret)
)

// outcomeCase is a row of the contract of reconcile.Reconciler.
type outcomeCase struct {
	name   string
	result reconcile.Result
	err    error
	want   decision
}

// Everything that a reconciler can answer, and what it means. A user who moves here from
// controller-runtime relies on each row.
var outcomes = []outcomeCase{
	{"nothing", reconcile.Result{}, nil,
		decision{label: "success", forget: true}},
	{"a priority, for next time, which never comes", reconcile.Result{Priority: new(7)}, nil,
		decision{label: "success", forget: true, priority: new(7)}},
	{"a delay", reconcile.Result{RequeueAfter: time.Minute}, nil,
		decision{label: "requeue_after", forget: true, again: afterDelay, after: time.Minute}},
	{"a delay and Requeue: the delay is more exact", reconcile.Result{Requeue: true, RequeueAfter: time.Minute}, nil,
		decision{label: "requeue_after", forget: true, again: afterDelay, after: time.Minute}},
	{"a delay and a priority", reconcile.Result{RequeueAfter: time.Minute, Priority: new(-3)}, nil,
		decision{label: "requeue_after", forget: true, again: afterDelay, after: time.Minute, priority: new(-3)}},
	{"the shortest delay", reconcile.Result{RequeueAfter: 1}, nil,
		decision{label: "requeue_after", forget: true, again: afterDelay, after: 1}},
	{"a delay that is over is none", reconcile.Result{RequeueAfter: -time.Second}, nil,
		decision{label: "success", forget: true}},
	{"a delay that is over and Requeue", reconcile.Result{Requeue: true, RequeueAfter: -time.Second}, nil,
		decision{label: "requeue", again: rateLimited}},
	{"Requeue counts as a failure", reconcile.Result{Requeue: true}, nil,
		decision{label: "requeue", again: rateLimited}},
	{"Requeue and a priority", reconcile.Result{Requeue: true, Priority: new(7)}, nil,
		decision{label: "requeue", again: rateLimited, priority: new(7)}},

	{"an error", reconcile.Result{}, errBroken,
		decision{label: "error", again: rateLimited}},
	{"an error and a priority", reconcile.Result{Priority: new(7)}, errBroken,
		decision{label: "error", again: rateLimited, priority: new(7)}},
	{"an error and a delay: backing off wins", reconcile.Result{RequeueAfter: time.Hour}, errBroken,
		decision{label: "error", again: rateLimited, ignored: true}},
	{"an error and the shortest delay", reconcile.Result{RequeueAfter: 1}, errBroken,
		decision{label: "error", again: rateLimited, ignored: true}},
	{"an error and Requeue", reconcile.Result{Requeue: true}, errBroken,
		decision{label: "error", again: rateLimited, ignored: true}},
	{"an error and a delay that is over, which asks for nothing", reconcile.Result{RequeueAfter: -time.Second}, errBroken,
		decision{label: "error", again: rateLimited}},
	{"a context that was cancelled", reconcile.Result{}, context.Canceled,
		decision{label: "error", again: rateLimited}},
	{"a context that ran out of time", reconcile.Result{}, fmt.Errorf("asking: %w", context.DeadlineExceeded),
		decision{label: "error", again: rateLimited}},
	{"a timeout of ours", reconcile.Result{}, &timeoutError{time.Second},
		decision{label: "error", again: rateLimited}},
	{"a panic", reconcile.Result{}, &panicError{value: "a bug"},
		decision{label: "error", again: rateLimited}},
	{"a panic with a terminal error, which nobody returned", reconcile.Result{}, &panicError{value: errPermanent},
		decision{label: "error", again: rateLimited}},

	{"a terminal error", reconcile.Result{}, errPermanent,
		decision{label: "error", forget: true, terminal: true}},
	{"a terminal error that is wrapped", reconcile.Result{}, fmt.Errorf("shop/web: %w", errPermanent),
		decision{label: "error", forget: true, terminal: true}},
	{"a terminal error among others", reconcile.Result{}, errors.Join(errBroken, errPermanent),
		decision{label: "error", forget: true, terminal: true}},
	{"a terminal error without a reason", reconcile.Result{}, reconcile.TerminalError(nil),
		decision{label: "error", forget: true, terminal: true}},
	{"a terminal error and a delay", reconcile.Result{RequeueAfter: time.Minute}, errPermanent,
		decision{label: "error", forget: true, terminal: true, ignored: true}},
	{"a terminal error that wraps a wait", reconcile.Result{}, reconcile.TerminalError(errWaiting),
		decision{label: "error", forget: true, terminal: true}},

	{"a wait", reconcile.Result{}, errWaiting,
		decision{label: "waiting", forget: true, again: whenWoken, awaited: secret}},
	{"a wait that is wrapped", reconcile.Result{Priority: new(7)}, fmt.Errorf("shop/web: %w", errWaiting),
		decision{label: "waiting", forget: true, again: whenWoken, awaited: secret, priority: new(7)}},
	{"a wait and a delay", reconcile.Result{RequeueAfter: time.Minute}, errWaiting,
		decision{label: "waiting", forget: true, again: whenWoken, awaited: secret, ignored: true}},
	{"a wait that was joined with an error, which wants a retry", reconcile.Result{}, errors.Join(errWaiting, errBroken),
		decision{label: "error", again: rateLimited}},
}

func TestAReconcilersAnswerMeansWhatTheTableSays(t *testing.T) {
	for _, c := range outcomes {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, outcome(c.result, c.err))
		})
	}
}

// A request that can never succeed would otherwise be retried for as long as the process lives.
func TestARequestIsGivenUpWhenItHasBeenRetriedOftenEnough(t *testing.T) {
	failed := outcome(reconcile.Result{Priority: new(7)}, errBroken)
	for _, c := range []struct {
		name           string
		retries, limit int
		gaveUp         bool
	}{
		{"the first failure", 0, 3, false},
		{"the second to last retry has failed", 2, 3, false},
		{"the last retry has failed", 3, 3, true},
		{"more retries than the limit, which somebody lowered", 9, 3, true},
		{"no limit", 1_000_000, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failed.limitRetries(c.retries, c.limit)
			if !c.gaveUp {
				require.Equal(t, failed, got)
				return
			}
			require.Equal(t, decision{label: "error", forget: true, gaveUp: true, priority: new(7)}, got,
				"it must be forgotten, or the next event does not start over")
		})
	}
}

func TestOnlyFailuresAreGivenUp(t *testing.T) {
	for _, c := range outcomes {
		if c.want.label == labelError && c.want.again == rateLimited {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, outcome(c.result, c.err).limitRetries(100, 1))
		})
	}
}
