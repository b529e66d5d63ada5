package claims_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// The words of the chapter's table, and what they stand for.
var (
	resultsInWords = map[string][]reconcile.Result{
		"nothing":        {{}},
		"`RequeueAfter`": {{RequeueAfter: time.Minute}},
		"`Requeue`":      {{Requeue: true}},
		"both":           {{RequeueAfter: time.Minute, Requeue: true}},
		"any":            {{}, {RequeueAfter: time.Minute}, {Requeue: true}, {RequeueAfter: time.Minute, Requeue: true}},
	}
	errorsInWords = map[string]error{
		"none":            nil,
		"an error":        errors.New("broken"),
		"`TerminalError`": reconcile.TerminalError(errors.New("broken")),
		"`WaitFor`":       reconcile.WaitFor(password),
	}
	password = reconcile.ObjectRef{Kind: "Secret", Namespace: "shop", Name: "password"}
)

// A reader believes the table of results and errors. So it is read here, and a controller does
// what it says.
func TestAControllerDoesWhatTheTableOfTheTextSays(t *testing.T) {
	text, err := os.ReadFile("../library.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "| result | error | reconciled again | failures so far | counted as |\n|---|---|---|---|---|\n")
	require.True(t, found, "the table is not where it was, or has other columns")
	table, _, _ = strings.Cut(table, "\n\n")
	combinations := map[reconcile.Result]map[string]bool{}
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		require.Len(t, cells, 5, "%s", row)
		failure, known := errorsInWords[cells[1]]
		require.True(t, known, "the table has an error that this test does not know: %s", cells[1])
		require.NotEmpty(t, resultsInWords[cells[0]], "the table has a result that this test does not know: %s", cells[0])
		for _, result := range resultsInWords[cells[0]] {
			if combinations[result] == nil {
				combinations[result] = map[string]bool{}
			}
			require.False(t, combinations[result][cells[1]], "two rows say what %+v and %s mean", result, cells[1])
			combinations[result][cells[1]] = true
			synctest.Test(t, func(t *testing.T) {
				again, failures, counted := answer(t, result, failure)
				require.Equal(t, cells[2:], []string{again, failures, counted}, "a reconciler that returns %+v, and as its error: %s", result, cells[1])
			})
		}
	}
	for _, result := range resultsInWords["any"] {
		require.Len(t, combinations[result], len(errorsInWords), "the table does not say what %+v means with each error", result)
	}
}

// answer has a reconciler fail once, and then give an answer. It returns what follows, in the
// table's words.
func answer(t *testing.T, result reconcile.Result, failure error) (again, failures, counted string) {
	const name = "the table"
	request := reconcile.Request{}
	request.Name = "web"
	var mu sync.Mutex // guards calls
	var calls []time.Time
	called := func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return calls
	}
	waits := failure == errorsInWords["`WaitFor`"]
	databases, err := controller.NewUnmanaged(name, controller.Options{
		Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, time.Now())
			switch n := len(calls); {
			case n == 1:
				return reconcile.Result{}, errors.New("a failure before")
			case n == 2, n == 3 && waits: // a request that waits is reconciled once more
				return result, failure
			default:
				return reconcile.Result{}, nil
			}
		}),
		RateLimiter:  &workqueue.Exponential[reconcile.Request]{Base: time.Second},
		WaitFallback: -1,
		Logger:       logr.FromSlogHandler(slog.DiscardHandler),
	})
	require.NoError(t, err)
	given := make(chan anyQueue, 1) // room for the one queue that there is
	require.NoError(t, databases.Watch(sourceFunc(func(queue anyQueue) {
		queue.Add(request)
		given <- queue
	})))
	before := counts(t, name)
	before["`error`"]++ // the failure before
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1) // room for Start's answer
	go func() { ended <- databases.Start(ctx) }()
	queue := <-given

	time.Sleep(1500 * time.Millisecond) // the failure's retry, after a second, has the answer
	synctest.Wait()
	failures = map[int]string{0: "forgotten", 2: "one more"}[queue.NumRequeues(request)]
	for result, n := range counts(t, name) {
		if n > before[result] {
			counted += result
		}
	}
	answered := called()
	time.Sleep(time.Hour)
	synctest.Wait()
	if later := called()[len(answered):]; len(later) > 0 {
		again = map[time.Duration]string{time.Minute: "after that time", 2 * time.Second: "after the limiter's delay"}[later[0].Sub(answered[1])]
	} else {
		again = "when something adds it"
		databases.(reconcile.Waker).Wake(password)
		synctest.Wait()
		if len(called()) > len(answered) {
			again = "when the other object changes"
		}
	}
	stop()
	require.NoError(t, <-ended)
	return again, failures, counted
}

// counts is the metric controller_runtime_reconcile_total, by result.
func counts(t *testing.T, name string) map[string]int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	found := map[string]int{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["controller"] == name {
				found["`"+labels["result"]+"`"] = int(m.GetCounter().GetValue())
			}
		}
	}
	return found
}

type anyQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type sourceFunc func(anyQueue)

func (f sourceFunc) Start(_ context.Context, queue anyQueue) error {
	f(queue)
	return nil
}
