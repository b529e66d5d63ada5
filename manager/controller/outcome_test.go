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
	{"Requeue counts as a failure", reconcile.Result{Requeue: true}, nil,
		decision{label: "requeue", again: rateLimited}},
	{"a delay that is over and Requeue", reconcile.Result{Requeue: true, RequeueAfter: -time.Second}, nil,
		decision{label: "requeue", again: rateLimited}},
	{"Requeue and a priority", reconcile.Result{Requeue: true, Priority: new(7)}, nil,
		decision{label: "requeue", again: rateLimited, priority: new(7)}},

	{"an error", reconcile.Result{}, errBroken,
		decision{label: "error", again: rateLimited}},
	{"an error and a priority", reconcile.Result{Priority: new(7)}, errBroken,
		decision{label: "error", again: rateLimited, priority: new(7)}},
	{"an error with a delay and Requeue", reconcile.Result{Requeue: true, RequeueAfter: time.Hour}, errBroken,
		decision{label: "error", again: rateLimited, ignored: true}},
	{"an error and a delay: backing off wins", reconcile.Result{RequeueAfter: time.Hour}, errBroken,
		decision{label: "error", again: rateLimited, ignored: true}},
	{"an error and the shortest delay", reconcile.Result{RequeueAfter: 1}, errBroken,
		decision{label: "error", again: rateLimited, ignored: true}},
	{"an error and Requeue", reconcile.Result{Requeue: true}, errBroken,
		decision{label: "error", again: rateLimited, ignored: true}},
	{"an error and a delay that is over, which asks for nothing", reconcile.Result{RequeueAfter: -time.Second}, errBroken,
		decision{label: "error", again: rateLimited}},
	{"a context that was cancelled, perhaps the reconciler's own", reconcile.Result{}, context.Canceled,
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

// Function: outcome
func TestAnAnswerMeansWhatTheTableSays(t *testing.T) {
	for _, c := range outcomes {
		t.Run(c.name, func(t *testing.T) {
			requireDecision(t, c.want, outcome(c.result, c.err))
		})
	}
}

// requireDecision compares field by field, because each of them costs a user something else.
func requireDecision(t *testing.T, want, got decision) {
	t.Helper()
	require.Equal(t, want.label, got.label, lostByTheWrongLabel(want))
	require.Equal(t, inWords(want.again), inWords(got.again), lostByTheWrongTime(want))
	require.Equal(t, want.after, got.after, "the reconciler said when it wants to be called, such as before a certificate expires, and the delay must be exactly that")
	require.Equal(t, want.awaited, got.awaited, "nobody wakes the request if the decision does not say which object it waits for")
	if want.forget {
		require.True(t, got.forget, "earlier failures must be forgotten: otherwise the next one, a week later, waits as if it were one more in a row")
	} else {
		require.False(t, got.forget, "the failures so far must count: otherwise each is the first, and a request that cannot succeed is retried every 5 ms forever")
	}
	if want.priority == nil {
		require.Nil(t, got.priority, "the answer has no priority, and must leave the one that the request has: work of low priority would push ahead of urgent work")
	} else {
		require.NotNil(t, got.priority, "the answer's priority is lost: what the reconciler wanted sooner, or later, comes when it would have come anyway")
		require.Equal(t, *want.priority, *got.priority, "the request must have the priority of the answer")
	}
	if want.terminal {
		require.True(t, got.terminal, "the error says itself that a retry is useless, and is counted separately: without the mark, the alert on these errors stays silent")
	} else {
		require.False(t, got.terminal, "this is no terminal error, and must not be counted as one")
	}
	require.Equal(t, want.gaveUp, got.gaveUp, "gaveUp marks requests that are given up, and no others: it is what is counted and logged about them")
	if want.ignored {
		require.True(t, got.ignored, "the reconciler asked to be called again, and an error overruled this: without the warning its author never learns why")
	} else {
		require.False(t, got.ignored, "nothing that the reconciler asked for was overruled: a warning would be wrong")
	}
	require.Equal(t, want, got)
}

func inWords(a nextLook) string {
	switch a {
	case onlyWhenAdded:
		return "only when added"
	case afterDelay:
		return "after a delay"
	case rateLimited:
		return "rate-limited"
	case whenWoken:
		return "when woken"
	}
	return fmt.Sprintf("nextLook(%d)", a)
}

func lostByTheWrongLabel(want decision) string {
	switch want.label {
	case labelError:
		return "this is a failure, and must be logged and counted as one: otherwise the object stays broken, and no alert says so"
	case labelWaiting:
		return "the request waits for another object: an alert on errors must not go off for it, and it is not done either"
	}
	return "dashboards find this kind of answer by its label, and they know controller-runtime's"
}

func lostByTheWrongTime(want decision) string {
	switch {
	case want.again == afterDelay:
		return "the reconciler asked to be called after a time: it would come too early, or never"
	case want.again == rateLimited:
		return "a retry must come, and each later than the one before: otherwise the object stays broken, or the API server is asked without pause"
	case want.again == whenWoken:
		return "the request must wait for the other object: a retry asks too often at first, and comes too late in the end"
	case want.terminal:
		return "no retry cures a terminal error: it would fail again and again, until somebody corrects the spec"
	}
	return "nothing may call the reconciler again until something adds the request: every object would be reconciled forever"
}

// A request that can never succeed would otherwise be retried for as long as the process lives.
// Function: decision.limitRetries
func TestARequestIsGivenUpWhenItHasBeenRetriedOftenEnough(t *testing.T) {
	failed := decision{label: labelError, again: rateLimited, priority: new(7), ignored: true}
	given := decision{label: labelError, forget: true, gaveUp: true, priority: new(7), ignored: true}
	for _, c := range []struct {
		name           string
		retries, limit int
		want           decision
		lost           string
	}{
		{"the first failure of three retries", 0, 3, failed, "no retry has been made: an error that is over in a second would cost the work"},
		{"the second of three retries has failed", 2, 3, failed, "one more retry was promised"},
		{"the last of three retries has failed", 3, 3, given, "all retries have been made, and there must be no other"},
		{"more retries than the limit", 9, 3, given, "a count above the limit is as good as one that has reached it: such a request would be retried forever"},
		{"the only retry is still to come", 0, 1, failed, "a limit of 1 is one retry"},
		{"the only retry has failed", 1, 1, given, "a limit of 1 is one retry, and no more"},
		{"the first failure without a limit", 0, 0, failed, "a limit of 0 is none, and it is the default: nobody's requests would be retried"},
		{"a million failures without a limit", 1_000_000, 0, failed, "a limit of 0 is none, and it is the default"},
		{"a negative limit, which is none either", 5, -1, failed, "a mistake in the options must not switch all retries off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failed.limitRetries(c.retries, c.limit)
			require.Equal(t, fate(c.want), fate(got), c.lost)
			requireGivenUp(t, c.want, got)
		})
	}
}

// fate is what limitRetries decides: the mark is how anybody hears of it.
func fate(d decision) string {
	if d.gaveUp {
		return inWords(d.again) + ", and marked as given up"
	}
	return inWords(d.again)
}

// requireGivenUp compares the rest of what limitRetries returns.
func requireGivenUp(t *testing.T, want, got decision) {
	t.Helper()
	require.Equal(t, want.forget, got.forget, "a request that is given up is forgotten, and no other: its next event has to start over, with all its retries")
	require.Equal(t, want.label, got.label, "it was an error, and must stay one in the metrics, or the alert is silent when things are worst")
	require.Equal(t, want, got, "nothing else of the decision may change: what is left of it is logged, counted and used")
}

// A Requeue is not a failure, and a wait or a delay was asked for: to give them up loses work
// that was going well.
// Function: decision.limitRetries
func TestOnlyFailuresAreGivenUp(t *testing.T) {
	for _, c := range outcomes {
		if c.want.label == labelError && c.want.again == rateLimited {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			got := c.want.limitRetries(100, 1)
			require.Equal(t, fate(c.want), fate(got), "only an error is given up: this was none that is retried, and it would get lost")
			requireGivenUp(t, c.want, got)
		})
	}
}
