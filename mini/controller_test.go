package mini_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
	"github.com/loopwright/loopwright/mini"
	"github.com/loopwright/loopwright/trace"
)

// notes is what reconciles write down, from many goroutines.
type notes struct {
	mu    sync.Mutex // guards lines
	began time.Time
	lines []string
}

func newNotes() *notes { return &notes{began: time.Now()} }

// add notes the time since the test began, and the text.
func (n *notes) add(text string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprint(time.Since(n.began), " ", text))
	return len(n.lines)
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.lines...)
}

// background runs a part until the test ends, and returns what stops it earlier and waits.
func background(t *testing.T, run func(context.Context) error) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = run(ctx)
	}()
	stop = func() error {
		cancel()
		<-ended
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// quiet keeps the log of failed reconciles out of the test's output, and returns it.
func quiet(t *testing.T) *bytes.Buffer {
	t.Helper()
	var text bytes.Buffer
	before, output, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(output) // SetDefault has changed these, too
		log.SetFlags(flags)
	})
	return &text
}

func TestTheReconcilerIsCalledWithEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(_ context.Context, req mini.Request) (mini.Result, error) {
				n.add(req.String())
				return mini.Result{}, nil
			}))
		c.Queue.Add(request("a"))
		stop := background(t, c.Run)
		synctest.Wait()
		c.Queue.Add(request("b"))
		time.Sleep(time.Second)
		c.Queue.Add(request("a"))
		time.Sleep(time.Hour)
		require.Equal(t, []string{"0s default/a", "0s default/b", "1s default/a"}, n.all(),
			"once for each Add, but not again after a success")
		require.NoError(t, stop())
	})
}

// Function: Controller.processNextWorkItem
func TestAReconcileIsRepeatedWhenItAsksForThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(_ context.Context, req mini.Request) (mini.Result, error) {
				after := []time.Duration{time.Minute, time.Nanosecond, 0}[n.add(req.Name)-1]
				return mini.Result{RequeueAfter: after}, nil
			}))
		c.Queue.Add(request("a"))
		background(t, c.Run)
		time.Sleep(time.Hour)
		require.Equal(t, []string{"0s a", "1m0s a", "1m0.000000001s a"}, n.all())
	})
}

// An error that is forgotten leaves the object as it is until something else changes.
//
// Function: Controller.processNextWorkItem
func TestAnErrorIsRetriedWithAGrowingPause(t *testing.T) {
	log := quiet(t)
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(_ context.Context, req mini.Request) (mini.Result, error) {
				switch n.add(req.Name) {
				case 1, 2, 3, 5: // an hour would be wrong: an error comes before the result
					return mini.Result{RequeueAfter: time.Hour}, errors.New("the quota is used up")
				case 6:
					return mini.Result{RequeueAfter: time.Second}, nil
				case 7:
					return mini.Result{}, errors.New("the quota is used up")
				}
				return mini.Result{}, nil
			}))
		c.Queue.Add(request("a"))
		background(t, c.Run)
		time.Sleep(time.Second)
		require.Equal(t, []string{"0s a", "5ms a", "15ms a", "35ms a"}, n.all())
		c.Queue.Add(request("a"))
		time.Sleep(time.Hour)
		require.Equal(t, []string{"1s a", "1.005s a", "2.005s a", "2.01s a"}, n.all()[4:],
			"after a success the pause is short again")
		require.Zero(t, c.Queue.NumRequeues(request("a")), "failures are forgotten after a success")
	})
	require.Contains(t, log.String(), "the quota is used up", "the log has each error")
}

func TestATerminalErrorIsNotRetried(t *testing.T) {
	log := quiet(t)
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		cause := errors.New("the selector is empty")
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(_ context.Context, req mini.Request) (mini.Result, error) {
				if n.add(req.Name) < 3 {
					return mini.Result{}, cause
				}
				return mini.Result{RequeueAfter: time.Second},
					fmt.Errorf("reconciling a: %w", mini.TerminalError(cause))
			}))
		c.Queue.Add(request("a"))
		background(t, c.Run)
		time.Sleep(time.Hour)
		require.Len(t, n.all(), 3, "the third error is terminal, even though another error wraps it")
		require.Zero(t, c.Queue.NumRequeues(request("a")), "otherwise a stays in memory forever")
		c.Queue.Add(request("a"))
		synctest.Wait()
		require.Len(t, n.all(), 4, "the next change is another chance")

		require.ErrorIs(t, mini.TerminalError(cause), cause)
		require.EqualError(t, mini.TerminalError(cause), cause.Error())
		require.NoError(t, mini.TerminalError(nil))
	})
	require.Contains(t, log.String(), "the selector is empty")
}

// Nobody tries again after a terminal error. If the log doesn't mention it either, a user never hears of it.
//
// Function: Controller.processNextWorkItem
func TestATerminalErrorIsLogged(t *testing.T) {
	log := quiet(t)
	synctest.Test(t, func(t *testing.T) {
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(context.Context, mini.Request) (mini.Result, error) {
				return mini.Result{}, mini.TerminalError(errors.New("the selector is empty"))
			}))
		c.Queue.Add(request("a"))
		background(t, c.Run)
		synctest.Wait()
	})
	require.Contains(t, log.String(), "the selector is empty")
}

// One bad object must not stop the controller for all others.
//
// Function: Controller.reconcile
func TestAPanicIsAnErrorAndTheWorkerLivesOn(t *testing.T) {
	log := quiet(t)
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(_ context.Context, req mini.Request) (mini.Result, error) {
				if n.add(req.Name) == 1 {
					var replicas *int32
					return mini.Result{RequeueAfter: time.Duration(*replicas)}, nil
				}
				return mini.Result{}, nil
			}))
		c.Queue.Add(request("a"))
		c.Queue.Add(request("b"))
		background(t, c.Run)
		time.Sleep(time.Hour)
		require.Equal(t, []string{"0s a", "0s b", "5ms a"}, n.all())
	})
	require.Contains(t, log.String(), "nil pointer dereference")
	require.Contains(t, log.String(), "controller_test.go", "the log says where it panicked")
}

// After Done, another worker may have the same request, succeed, and forget its failures.
// Then it's too late for anything that this worker still has to say about the request: it
// would make a healthy object wait.
//
// Function: Controller.processNextWorkItem
func TestDoneIsCalledAfterEverythingElse(t *testing.T) {
	quiet(t)
	for what, answer := range inorder.Map(map[string]func() (mini.Result, error){
		"an error":       func() (mini.Result, error) { return mini.Result{}, errors.New("the quota is used up") },
		"a RequeueAfter": func() (mini.Result, error) { return mini.Result{RequeueAfter: time.Hour}, nil },
	}) {
		synctest.Test(t, func(t *testing.T) {
			c := mini.NewController("test", mini.ReconcilerFunc(
				func(context.Context, mini.Request) (mini.Result, error) { return answer() }))
			c.Queue.Trace = trace.New(0)
			c.Queue.Add(request("a"))
			background(t, c.Run)
			synctest.Wait()
			require.Equal(t, []string{"enqueue", "dequeue", "delay", "done"}, kinds(c.Queue.Trace),
				"after %s, the next try is in the queue before Done gives the request to another worker", what)
		})
	}
}

// The next worker may fail before this one has called Forget, and then its failure would
// be forgotten as well.
//
// Function: Controller.processNextWorkItem
func TestFailuresAreForgottenBeforeDone(t *testing.T) {
	quiet(t)
	for what, answer := range inorder.Map(map[string]func() (mini.Result, error){
		"a success":        func() (mini.Result, error) { return mini.Result{}, nil },
		"a RequeueAfter":   func() (mini.Result, error) { return mini.Result{RequeueAfter: time.Hour}, nil },
		"a terminal error": func() (mini.Result, error) { return mini.Result{}, mini.TerminalError(errors.New("no")) },
	}) {
		c := mini.NewController("test", nil)
		failures := mutexOf(t, c.Queue) // Forget needs it
		answered, calls := make(chan struct{}), 0
		c.Reconciler = mini.ReconcilerFunc(func(_ context.Context, req mini.Request) (mini.Result, error) {
			if calls++; calls > 1 {
				return mini.Result{}, nil
			}
			c.Queue.Add(req) // a change, which another worker gets after Done
			failures.Lock()
			close(answered)
			return answer()
		})
		c.Queue.Add(request("a"))
		stop := background(t, c.Run)
		<-answered
		untilALockIsAwaited(0, func() bool { return c.Queue.Len() > 0 })
		waiting := c.Queue.Len()
		failures.Unlock()
		require.NoError(t, stop())
		require.Zero(t, waiting, "after %s, Done was called, and the failures weren't forgotten yet", what)
	}
}

// Function: Controller.reconcile
func TestTheTimeoutEndsTheContextOfAReconcile(t *testing.T) {
	quiet(t)
	for _, timeout := range []time.Duration{10 * time.Second, time.Nanosecond} {
		synctest.Test(t, func(t *testing.T) {
			n := newNotes()
			var last context.Context
			c := mini.NewController("test", mini.ReconcilerFunc(
				func(ctx context.Context, req mini.Request) (mini.Result, error) {
					if last = ctx; n.add(req.Name) > 1 {
						return mini.Result{}, nil
					}
					<-ctx.Done()
					return mini.Result{}, ctx.Err()
				}))
			c.Timeout = timeout
			c.Queue.Add(request("a"))
			background(t, c.Run)
			time.Sleep(time.Hour)
			again := fmt.Sprint(timeout+5*time.Millisecond, " a")
			require.Equal(t, []string{"0s a", again}, n.all(), "a timeout is an error")
			require.ErrorIs(t, last.Err(), context.Canceled,
				"a reconcile has returned, but its timeout is still running")
		})
	}
}

// A program that's told to stop has half a minute. A reconcile that hears nothing of the stop takes ten, and is killed.
//
// Function: Controller.reconcile
func TestAStopEndsAReconcileBeforeItsTimeoutDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(ctx context.Context, _ mini.Request) (mini.Result, error) {
				<-ctx.Done()
				return mini.Result{}, nil
			}))
		c.Timeout = 10 * time.Minute
		c.Queue.Add(request("a"))
		stop := background(t, c.Run)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, stop())
		require.Zero(t, time.Since(began), "how long the reconcile went on after the stop")
	})
}

// A timeout of zero means no timeout, not one that's over at once.
//
// Function: Controller.reconcile
func TestWithoutATimeoutAReconcileMayTakeAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(ctx context.Context, _ mini.Request) (mini.Result, error) {
				began := time.Now()
				select {
				case <-ctx.Done():
				case <-time.After(24 * time.Hour):
				}
				took = time.Since(began)
				return mini.Result{}, nil
			}))
		c.Queue.Add(request("a"))
		stop := background(t, c.Run)
		time.Sleep(25 * time.Hour)
		require.NoError(t, stop())
		require.Equal(t, 24*time.Hour, took)
	})
}

// atOnce returns how many reconciles run at the same time, and whether two of them had the
// same request.
func atOnce(t *testing.T, workers, requests int) (most int, shared bool) {
	t.Helper()
	var mu sync.Mutex
	busy := map[mini.Request]bool{}
	c := mini.NewController("test", nil)
	c.Reconciler = mini.ReconcilerFunc(
		func(_ context.Context, req mini.Request) (mini.Result, error) {
			mu.Lock()
			shared = shared || busy[req]
			busy[req] = true
			most = max(most, len(busy))
			mu.Unlock()
			c.Queue.Add(req) // a change during the reconcile
			time.Sleep(time.Second)
			mu.Lock()
			delete(busy, req)
			mu.Unlock()
			return mini.Result{}, nil
		})
	c.Workers = workers
	for i := range requests {
		c.Queue.Add(request(fmt.Sprint(i)))
	}
	stop := background(t, c.Run)
	time.Sleep(10 * time.Second)
	require.NoError(t, stop())
	return most, shared
}

// Function: Controller.Run
func TestWorkersReconcileAtTheSameTime(t *testing.T) {
	for workers, want := range inorder.Map(map[int]int{0: 1, 1: 1, 3: 3}) {
		synctest.Test(t, func(t *testing.T) {
			most, _ := atOnce(t, workers, 5)
			require.Equal(t, want, most, "%d workers", workers)
		})
	}
}

func TestARequestIsNeverWithTwoWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most, shared := atOnce(t, 8, 2)
		require.Equal(t, 2, most)
		require.False(t, shared, "two workers reconcile one object at the same time")
	})
}

// With a half-full cache, a Reconciler misses objects that exist, and creates them a
// second time.
//
// Function: Controller.Run
func TestTheFirstReconcileWaitsForTheCaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(_ context.Context, req mini.Request) (mini.Result, error) {
				n.add(req.Name)
				return mini.Result{}, nil
			}))
		for _, pause := range []time.Duration{time.Second, 2 * time.Second} {
			listed := time.After(pause)
			c.WaitFor = append(c.WaitFor, func(ctx context.Context) error {
				select {
				case <-listed:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}
		c.Queue.Add(request("a"))
		background(t, c.Run)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"2s a"}, n.all())
	})
}

// That's true even if the failure sounds like a stop: the cache may belong to another
// part, which has ended.
//
// Function: Controller.Run
func TestACacheThatFailsEndsTheController(t *testing.T) {
	for _, cause := range []error{errors.New("there is no such kind"), context.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			c := mini.NewController("test", mini.ReconcilerFunc(
				func(context.Context, mini.Request) (mini.Result, error) {
					t.Error("there is no cache to read from")
					return mini.Result{}, nil
				}))
			c.WaitFor = append(c.WaitFor, func(context.Context) error { return cause })
			c.Queue.Add(request("a"))
			require.ErrorIs(t, c.Run(t.Context()), cause)
			require.ErrorContains(t, c.Run(t.Context()), "test", "the error names the controller")
		})
	}
}

// A program that was told to stop has not failed.
//
// Function: Controller.Run
func TestAStopWhileTheCachesFillIsNotAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(context.Context, mini.Request) (mini.Result, error) {
				t.Error("the cache was not full")
				return mini.Result{}, nil
			}))
		c.WaitFor = append(c.WaitFor, func(ctx context.Context) error {
			<-ctx.Done()
			return errors.New("watch closed") // in other words than the context's
		})
		c.Queue.Add(request("a"))
		c.Queue.AddAfter(request("b"), time.Hour)
		stop := background(t, c.Run)
		synctest.Wait()
		require.NoError(t, stop())
	})
}

func TestRunReturnsWhenTheRunningReconcilesHave(t *testing.T) {
	quiet(t)
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(ctx context.Context, req mini.Request) (mini.Result, error) {
				n.add(req.Name)
				<-ctx.Done()
				time.Sleep(time.Second) // cleans up
				n.add(req.Name + " ends")
				return mini.Result{}, ctx.Err()
			}))
		c.Workers, c.Trace = 2, trace.New(0)
		for _, name := range []string{"a", "b", "c", "d"} {
			c.Queue.Add(request(name))
		}
		stop := background(t, c.Run)
		time.Sleep(time.Minute)
		require.NoError(t, stop(), "a stop is not a failure")
		require.Equal(t, []string{"0s a", "0s b", "1m1s a ends", "1m1s b ends"},
			slices.Sorted(slices.Values(n.all())),
			"no reconcile begins after the stop, and none runs when Run has returned")
		require.Equal(t, []string{"reconcile start", "reconcile start", "reconcile end", "reconcile end"},
			kinds(c.Trace), "the flight recorder shows a reconcile that has not been")
		c.Queue.Add(request("e"))
		time.Sleep(time.Hour)
		require.Len(t, n.all(), 4)
		c.Queue.ShutDownWithDrain() // returns: no worker has kept a request
	})
}

// If Run returned earlier, a reconcile could still be writing when another process leads. If it returned later, Kubernetes
// might kill the process before it has released its lease.
//
// Function: Controller.Run
func TestRunWaitsForTheLastReconcileAndNoLonger(t *testing.T) {
	for _, cleanUp := range []time.Duration{0, time.Second, 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan struct{})
			c := mini.NewController("test", mini.ReconcilerFunc(
				func(ctx context.Context, _ mini.Request) (mini.Result, error) {
					defer close(ended)
					<-ctx.Done()
					time.Sleep(cleanUp)
					return mini.Result{}, nil
				}))
			c.Workers = 3
			c.Queue.Add(request("a"))
			stop := background(t, c.Run)
			synctest.Wait()
			began := time.Now()
			require.NoError(t, stop())
			took := time.Since(began)
			<-ended
			require.Equal(t, cleanUp, took, "how long Run waits for a reconcile that takes %s to end", cleanUp)
		})
	}
}

// Function: Controller.Run
func TestWorkersWithoutWorkAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := mini.NewController("test", nil)
		c.Workers = 3
		c.Queue.AddAfter(request("a"), time.Hour)
		stop := background(t, c.Run)
		time.Sleep(time.Minute)
		require.NoError(t, stop())
		time.Sleep(2 * time.Hour)
		require.Zero(t, c.Queue.Len(), "an alarm rings after the stop")
	})
}

// A worker that takes the end of the queue for a request reconciles an object without a name.
//
// Function: Controller.processNextWorkItem
func TestAQueueThatIsShutDownEndsTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNotes()
		c := mini.NewController("test", mini.ReconcilerFunc(
			func(ctx context.Context, req mini.Request) (mini.Result, error) {
				n.add(req.Name)
				<-ctx.Done()
				return mini.Result{}, nil
			}))
		stop := background(t, c.Run)
		synctest.Wait()
		c.Queue.ShutDown()
		synctest.Wait()
		require.Empty(t, n.all(), "there was no request")
		require.NoError(t, stop())
	})
}

// Function: Controller.processNextWorkItem
func TestTheFlightRecorderShowsReconciles(t *testing.T) {
	quiet(t)
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]func() (mini.Result, error){
			"ok":       func() (mini.Result, error) { return mini.Result{}, nil },
			"later":    func() (mini.Result, error) { return mini.Result{RequeueAfter: time.Hour}, nil },
			"failed":   func() (mini.Result, error) { return mini.Result{}, errors.New("no") },
			"terminal": func() (mini.Result, error) { return mini.Result{}, mini.TerminalError(errors.New("no")) },
		}
		want := map[string]trace.Outcome{
			"ok": trace.Succeeded, "later": trace.Requeued, "failed": trace.Failed, "terminal": trace.GivenUp,
		}
		for name, outcome := range want {
			c := mini.NewController("test", mini.ReconcilerFunc(
				func(context.Context, mini.Request) (mini.Result, error) {
					time.Sleep(time.Millisecond)
					return answers[name]()
				}))
			c.Trace = trace.New(0)
			c.Queue.Add(request(name))
			stop := background(t, c.Run)
			time.Sleep(2 * time.Millisecond)
			require.NoError(t, stop())
			require.Equal(t, []string{"reconcile start", "reconcile end"}, kinds(c.Trace))
			start, end := c.Trace.Events()[0], c.Trace.Events()[1]
			require.Equal(t, name, start.Name)
			require.Equal(t, outcome, end.Outcome, name)
			require.Equal(t, name, end.Name)
			require.Equal(t, time.Millisecond, end.Took)
			require.Equal(t, outcome == trace.Succeeded, end.Reason == "", "the reason for everything else")
		}
	})
}

// Function: Controller.reconcile
func TestWhatAReconcileDoesIsRecordedInItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		c := mini.NewController("shop", mini.ReconcilerFunc(
			func(ctx context.Context, req mini.Request) (mini.Result, error) {
				recorder.RecordBy(ctx, trace.Event{Kind: trace.Note})
				return mini.Result{}, nil
			}))
		c.Queue.Add(mini.Request{Namespace: "default", Name: "one"})
		stop := background(t, c.Run)
		synctest.Wait()
		require.NoError(t, stop())
		e := recorder.Events()[0]
		require.Equal(t, "shop default one", e.Layer+" "+e.ToNamespace+" "+e.ToName)
	})
}
