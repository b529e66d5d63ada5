package controller

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// slow is a reconciler that takes a while, and notes how each of its calls ended.
type slow struct {
	takes time.Duration
	calls
	cutOff []error // the causes
}

func (s *slow) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	s.add(r)
	select {
	case <-time.After(s.takes):
		return reconcile.Result{}, nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cutOff = append(s.cutOff, context.Cause(ctx))
		return reconcile.Result{}, ctx.Err()
	}
}

// What is under way may be halfway between two writes. It gets the time to do the second.
func TestAStopWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reconciler := &slow{takes: 9 * time.Second}
		c, queue := start(t, Options{Reconciler: reconciler, GracePeriod: 10 * time.Second})
		queue.Add(req("web"))
		synctest.Wait()
		stopping := time.Now()
		require.NoError(t, c.end())
		require.Empty(t, reconciler.cutOff, "it was cut off within the grace period")
		require.Equal(t, 9*time.Second, time.Since(stopping))
	})
}

// A reconcile that hangs must not keep the process from ending.
func TestAStopCutsOffWhatTakesLongerThanTheGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name         string
		option, want time.Duration
	}{
		{"of nothing by default, as in controller-runtime", 0, 0},
		{"of a minute", time.Minute, time.Minute},
		{"of less than nothing", -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Collected
				reconciler := &slow{takes: time.Hour}
				r, queue := start(t, Options{GracePeriod: c.option, Reconciler: reconciler, Logger: log.Logger(0)})
				queue.Add(req("web"))
				synctest.Wait()
				stopping := time.Now()
				require.NoError(t, r.end())
				require.Equal(t, c.want, time.Since(stopping))
				require.Equal(t, []error{errGraceOver}, reconciler.cutOff)
				require.Empty(t, log.With("Reconciler error"), "the stop is not the reconciler's fault")
				require.Len(t, log.With("Cut off"), 1)
			})
		})
	}
}

// Start waits for its goroutines even if the user's code does not care about its context: what it
// writes after that, another process may have decided differently.
func TestStartReturnsAfterTheLastReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		var log logtest.Collected
		c, queue := start(t, Options{Logger: log.Logger(5), Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			time.Sleep(time.Hour)
			ended = true
			return reconcile.Result{}, nil
		})})
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, c.end())
		require.True(t, ended)
		require.Empty(t, log.With("Cut off"), "it did what it had to do")
		require.Len(t, log.With(`"msg"="Reconciled"`), 1)
	})
}

func TestAStopBeginsNothingNew(t *testing.T) {
	for _, kind := range queueKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Collected
				reconciler := &slow{takes: time.Second}
				options := Options{Reconciler: reconciler, Logger: log.Logger(0), GracePeriod: time.Minute}
				kind.use(&options)
				c, queue := start(t, options)
				for _, name := range []string{"a", "b", "c"} {
					queue.Add(req(name))
				}
				synctest.Wait()
				stopping := time.Now()
				require.NoError(t, c.end())
				require.Equal(t, []string{"a"}, reconciler.all())
				require.Equal(t, time.Second, time.Since(stopping))
				require.Empty(t, log.With("before the queue is drained"), "nobody wanted a drain")
			})
		})
	}
}

// What a reconciler has started in the background must not go on to write.
func TestTheContextOfAReconcileEndsWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given context.Context
		c, queue := start(t, Options{GracePeriod: time.Minute, Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			given = ctx
			return reconcile.Result{}, nil
		})})
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, given.Err(), "the controller still runs")
		require.NoError(t, c.end())
		require.Equal(t, errStopped, context.Cause(given))
	})
}

// A controller that is the only one to know of its work, because its source is no list, wants to
// have done it all.
func TestADrainReconcilesWhatWaits(t *testing.T) {
	for _, kind := range queueKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Collected
				reconciler := &slow{takes: time.Second}
				options := Options{Reconciler: reconciler, DrainOnStop: true, Logger: log.Logger(0)}
				kind.use(&options)
				c, queue := start(t, options)
				for _, name := range []string{"a", "b", "c"} {
					queue.Add(req(name))
				}
				queue.AddAfter(req("later"), time.Hour)
				synctest.Wait()
				queue.Add(req("a")) // again, while a worker holds it
				stopping := time.Now()
				require.NoError(t, c.end())
				require.Equal(t, []string{"a", "b", "c", "a"}, reconciler.all())
				require.Equal(t, 4*time.Second, time.Since(stopping))
				require.Empty(t, log.With("before the queue is drained"))
			})
		})
	}
}

func TestADrainEndsWithTheGracePeriod(t *testing.T) {
	for _, kind := range queueKinds {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logtest.Collected
				reconciler := &slow{takes: time.Second}
				options := Options{Reconciler: reconciler, DrainOnStop: true, GracePeriod: 1500 * time.Millisecond, Logger: log.Logger(0)}
				kind.use(&options)
				c, queue := start(t, options)
				for _, name := range []string{"a", "b", "c"} {
					queue.Add(req(name))
				}
				synctest.Wait()
				stopping := time.Now()
				require.NoError(t, c.end())
				require.Equal(t, []string{"a", "b"}, reconciler.all())
				require.Equal(t, []error{errGraceOver}, reconciler.cutOff)
				require.Equal(t, 1500*time.Millisecond, time.Since(stopping))
			})
		})
	}
}

// If a source went on to add while the queue is drained, what it adds would be lost without a word.
func TestADrainBeginsWhenTheSourcesHaveStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reconciler := &slow{takes: time.Second}
		c := prepare(t, Options{Reconciler: reconciler, DrainOnStop: true})
		source := &testSource{stops: time.Second}
		require.NoError(t, c.Watch(source))
		c.begin()
		synctest.Wait()
		c.stop()
		synctest.Wait()
		(<-c.queue).Add(req("last"))
		require.NoError(t, <-c.ended)
		require.Equal(t, []string{"last"}, reconciler.all())
		require.True(t, source.hasStopped())
	})
}

// lateQueue hands out an item after its ShutDown, as client-go's does with what waits.
type lateQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	items chan reconcile.Request // sent to and closed by the test
	done  []reconcile.Request
}

func (q *lateQueue) Get() (reconcile.Request, bool) {
	item, more := <-q.items
	return item, !more
}

func (q *lateQueue) Done(item reconcile.Request) { q.done = append(q.done, item) }

func TestARequestThatComesAfterTheStopIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		queue := &lateQueue{TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueue[reconcile.Request](nil), items: make(chan reconcile.Request)}
		c, _ := start(t, Options{Reconciler: calls.answering(), NewQueue: func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
			return queue
		}})
		c.stop()
		synctest.Wait()
		queue.items <- req("late")
		close(queue.items)
		require.NoError(t, <-c.ended)
		require.Empty(t, calls.all())
		require.Equal(t, []reconcile.Request{req("late")}, queue.done, "a queue that drains waits for it")
	})
}

// Somebody who looks at the log of a process that hangs must see how far it came.
func TestTheLogTellsTheLifeOfAController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Collected
		c := prepare(t, Options{Reconciler: &slow{takes: time.Second}, Logger: log.Logger(0), DrainOnStop: true, GracePeriod: time.Millisecond})
		require.NoError(t, c.Watch(&testSource{name: "early", adds: "web", stops: time.Millisecond}))
		c.begin()
		synctest.Wait()
		require.NoError(t, c.Watch(&testSource{name: "late", adds: "db", stops: time.Millisecond}))
		synctest.Wait()
		require.NoError(t, c.end())
		var messages []string
		for _, line := range log.With("msg") {
			_, message, _ := strings.Cut(line, `"msg"="`)
			message, _, _ = strings.Cut(message, `"`)
			messages = append(messages, message)
		}
		slices.Sort(messages[5:7]) // which of the two comes first is not promised
		require.Equal(t, []string{
			"Starting source", "Starting source", "Starting workers", "Starting source",
			"Stopping; waiting for reconciles that are under way",
			"Cut off", "Stopping before the queue is drained",
			"Stopped",
		}, messages)
		for _, source := range []string{"controller.sourceFunc", "early", "late"} {
			require.Len(t, log.With(`"source"="`+source+`"`), 1)
		}
		require.Len(t, log.With(`"waiting"=1`), 1)
	})
}
