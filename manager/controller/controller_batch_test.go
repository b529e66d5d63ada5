package controller

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
)

// batches notes what a batch was called with, and answers what answer says.
type batches struct {
	got    [][]string
	answer func(call int, name string) reconcile.Outcome
	gate   chan struct{} // if it is there, each call receives from it
}

func (b *batches) reconcile(ctx context.Context, requests []reconcile.Request) (outcomes []reconcile.Outcome) {
	if b.gate != nil {
		<-b.gate
	}
	call := len(b.got)
	b.got = append(b.got, nil)
	for _, r := range requests {
		b.got[call] = append(b.got[call], r.Name)
		if b.answer != nil {
			outcomes = append(outcomes, b.answer(call, r.Name))
		} else {
			outcomes = append(outcomes, reconcile.Outcome{})
		}
	}
	return outcomes
}

func add(queue interface{ Add(reconcile.Request) }, names ...string) {
	for _, name := range names {
		queue.Add(req(name))
	}
}

// A call of a cloud's API that can take a hundred names costs as much as one that takes one.
func TestABatchGetsWhatWaits(t *testing.T) {
	for _, priorities := range []bool{true, false} {
		t.Run(fmt.Sprint("priorities ", priorities), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &batches{gate: make(chan struct{})}
				recorder := trace.New(0)
				c, queue := start(t, Options{Batch: b.reconcile, MaxBatch: 3, UsePriorityQueue: &priorities, Recorder: recorder})
				add(queue, "a")
				synctest.Wait() // it is taken alone: nobody waits for a batch to fill up
				require.Equal(t, []string{"1"}, measured(t, "controller_runtime_active_workers"))
				add(queue, "b", "c", "b", "d", "e")
				close(b.gate)
				synctest.Wait()
				require.Equal(t, []string{"0"}, measured(t, "controller_runtime_active_workers"))
				require.NoError(t, c.end())
				require.Equal(t, [][]string{{"a"}, {"b", "c", "d"}, {"e"}}, b.got)
				require.Equal(t, []string{"3"}, measured(t, "controller_runtime_reconcile_time_seconds"), "calls")
				require.Equal(t, []string{"error 0", "requeue 0", "requeue_after 0", "success 5", "waiting 0"}, measured(t, "controller_runtime_reconcile_total"), "requests")
				require.Len(t, trace.Filter{Kinds: []trace.Kind{trace.ReconcileStart}}.Select(recorder.Events()), 5)
				require.Len(t, trace.Filter{Kinds: []trace.Kind{trace.ReconcileEnd}}.Select(recorder.Events()), 5)
			})
		})
	}
}

func TestEachRequestOfABatchHasItsOwnOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batches{gate: make(chan struct{}), answer: func(call int, name string) reconcile.Outcome {
			switch {
			case call != 1:
				return reconcile.Outcome{}
			case name == "fails":
				return reconcile.Outcome{Err: errBroken}
			case name == "later":
				return reconcile.Outcome{Result: reconcile.Result{RequeueAfter: time.Minute}}
			case name == "waits":
				return reconcile.Outcome{Err: errWaiting}
			case name == "never":
				return reconcile.Outcome{Err: errPermanent}
			default:
				return reconcile.Outcome{}
			}
		}}
		c, queue := start(t, Options{Batch: b.reconcile})
		add(queue, "first")
		synctest.Wait()
		add(queue, "good", "fails", "later", "waits", "never")
		close(b.gate)
		time.Sleep(2 * time.Minute)
		require.NoError(t, c.end())
		require.Equal(t, [][]string{{"first"}, {"good", "fails", "later", "waits", "never"}, {"waits"}, {"fails"}, {"later"}}, b.got)
	})
}

// No request may be lost because of what happens to a call.
func TestABatchThatGoesWrongFailsAllItsRequests(t *testing.T) {
	for _, c := range []struct {
		name, says string
		wrong      func() []reconcile.Outcome
	}{
		{"a panic", "panic: a bug", func() []reconcile.Outcome { panic("a bug") }},
		{"too few outcomes", "the batch returned 1 outcomes for 2 requests", func() []reconcile.Outcome { return make([]reconcile.Outcome, 1) }},
		{"too many outcomes", "the batch returned 3 outcomes for 2 requests", func() []reconcile.Outcome { return make([]reconcile.Outcome, 3) }},
		{"the end of the goroutine", "runtime.Goexit", func() []reconcile.Outcome { runtime.Goexit(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logged
				b := &batches{gate: make(chan struct{})}
				r, queue := start(t, Options{Logger: log.logger(0), Batch: func(ctx context.Context, requests []reconcile.Request) []reconcile.Outcome {
					outcomes := b.reconcile(ctx, requests)
					if len(b.got) == 2 {
						return c.wrong()
					}
					return outcomes
				}})
				add(queue, "first")
				synctest.Wait()
				add(queue, "a", "b")
				close(b.gate)
				time.Sleep(time.Minute)
				require.NoError(t, r.end())
				require.Equal(t, []string{"a", "b"}, b.got[1])
				var again []string
				for _, call := range b.got[2:] {
					again = append(again, call...)
				}
				require.ElementsMatch(t, []string{"a", "b"}, again)
				require.Len(t, log.containing(c.says), 2, "one line for each request")
				require.Equal(t, []string{"2"}, measured(t, "controller_runtime_reconcile_errors_total"))
			})
		})
	}
}

// client-go's queue cannot be asked what waits without waiting for it.
func TestABatchWorksWithEveryQueue(t *testing.T) {
	for _, kind := range queueKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &batches{}
				options := Options{Batch: b.reconcile, MaxConcurrentReconciles: 1}
				kind.use(&options)
				c, queue := start(t, options)
				add(queue, "a", "b", "c")
				synctest.Wait()
				require.NoError(t, c.end())
				var all []string
				for _, call := range b.got {
					all = append(all, call...)
				}
				require.Equal(t, []string{"a", "b", "c"}, all)
			})
		})
	}
}

func TestABatchOfOneKnowsItsReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reasons []string
		c, queue := start(t, Options{Batch: func(ctx context.Context, requests []reconcile.Request) []reconcile.Outcome {
			reasons = append(reasons, reconcile.ReasonsFrom(ctx).String())
			return []reconcile.Outcome{{Result: reconcile.Result{Requeue: len(reasons) == 1}}}
		}})
		add(queue, "a")
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		require.Equal(t, []string{"", "tried again"}, reasons)
	})
}

// The reasons of one request are not those of another. The lines of one call have one ID.
func TestABatchOfSeveralHasOneIDAndNoReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		gate := make(chan struct{})
		var id string
		c, queue := start(t, Options{Logger: log.logger(5), Batch: func(ctx context.Context, requests []reconcile.Request) []reconcile.Outcome {
			<-gate
			outcomes := make([]reconcile.Outcome, len(requests))
			if len(requests) == 2 {
				id = string(ReconcileIDFromContext(ctx))
				require.Empty(t, reconcile.ReasonsFrom(ctx))
				outcomes[0].Err, outcomes[1].Err = errPermanent, errPermanent
			}
			return outcomes
		}})
		add(queue, "first")
		synctest.Wait()
		add(queue, "a", "b")
		close(gate)
		synctest.Wait()
		require.NoError(t, c.end())
		lines := log.containing(id)
		require.Len(t, lines, 3)
		require.Contains(t, lines[0], `"requests"=2`)
		require.Contains(t, lines[1], `"name"="a"`)
		require.Contains(t, lines[2], `"name"="b"`)
	})
}

func TestABatchHasTheTimeoutOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c, queue := start(t, Options{ReconciliationTimeout: time.Second, Batch: func(ctx context.Context, requests []reconcile.Request) []reconcile.Outcome {
			if calls++; calls == 1 {
				<-ctx.Done()
			}
			return make([]reconcile.Outcome, len(requests))
		}})
		add(queue, "a")
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		require.Equal(t, []string{"1"}, measured(t, "controller_runtime_reconcile_timeouts_total"))
		require.Equal(t, 1, calls, "what it returned counts")
	})
}

func TestReconcileCallsTheBatchForOne(t *testing.T) {
	b := &batches{answer: func(int, string) reconcile.Outcome { return reconcile.Outcome{Err: errBroken} }}
	c := prepare(t, Options{Batch: b.reconcile})
	defer freeName(t.Name())
	_, err := c.Reconcile(t.Context(), req("web"))
	require.Equal(t, errBroken, err)
	require.Equal(t, [][]string{{"web"}}, b.got)
}

// To sort its requests, or to filter them in place, is natural for a batch. But then the outcome
// of one would be taken for that of another, and a failure would be forgotten.
func TestABatchThatChangesItsSliceFailsAllItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		b := &batches{gate: make(chan struct{})}
		c, queue := start(t, Options{Logger: log.logger(0), Batch: func(ctx context.Context, requests []reconcile.Request) []reconcile.Outcome {
			outcomes := b.reconcile(ctx, requests)
			if len(b.got) == 2 {
				slices.Reverse(requests)
			}
			return outcomes
		}})
		add(queue, "first")
		synctest.Wait()
		add(queue, "a", "b")
		close(b.gate)
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		var again []string
		for _, call := range b.got[2:] {
			again = append(again, call...)
		}
		require.ElementsMatch(t, []string{"a", "b"}, again, "both are retried")
		lines := log.containing("the batch changed the slice of its requests")
		require.Len(t, lines, 2)
		require.Contains(t, lines[0], `"name"="a"`, "the log names the request that is settled")
		require.Contains(t, lines[1], `"name"="b"`)
	})
}

func TestTheDetailsOfABatchAreLoggedForThoseWhoWantThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		c, queue := start(t, Options{Logger: log.logger(5), Batch: func(_ context.Context, requests []reconcile.Request) []reconcile.Outcome {
			return make([]reconcile.Outcome, len(requests))
		}})
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, c.end())
		lines := log.containing(`"msg"="Reconciling"`)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], `"level"=5`)
		require.Contains(t, lines[0], `"requests"=1`)
	})
}
