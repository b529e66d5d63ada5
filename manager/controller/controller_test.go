package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

func TestARequestThatIsAddedIsReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{Reconciler: calls.answering()})
		queue.Add(req("web"))
		synctest.Wait()
		require.Equal(t, []string{"web"}, calls.all())
		require.NoError(t, c.end())
		require.Equal(t, []string{"error 0", "requeue 0", "requeue_after 0", "success 1", "waiting 0"}, measured(t, "controller_runtime_reconcile_total"))
		require.Equal(t, []string{"1"}, measured(t, "controller_runtime_reconcile_time_seconds"))
	})
}

// Each answer leads to the next look when its row in the table says so. The times are those at
// which the reconciler is called, counted from the add.
func TestTheNextLookComesWhenTheAnswerSays(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name   string
		answer returns
		want   []time.Duration
	}{
		{"success", returns{}, []time.Duration{0}},
		{"a delay", returns{Result: reconcile.Result{RequeueAfter: 20 * ms}}, []time.Duration{0, 20 * ms, 40 * ms, 60 * ms, 80 * ms}},
		{"requeue", returns{Result: reconcile.Result{Requeue: true}}, []time.Duration{0, 5 * ms, 15 * ms, 35 * ms, 75 * ms}},
		{"an error", returns{Err: errBroken}, []time.Duration{0, 5 * ms, 15 * ms, 35 * ms, 75 * ms}},
		{"a terminal error", returns{Err: errPermanent}, []time.Duration{0}},
		{"an error and a delay", returns{Err: errBroken, Result: reconcile.Result{RequeueAfter: ms}}, []time.Duration{0, 5 * ms, 15 * ms, 35 * ms, 75 * ms}},
		{"a wait, looked at twice", returns{Err: errWaiting}, []time.Duration{0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var began time.Time
				var looks []time.Duration
				_, queue := start(t, Options{Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					looks = append(looks, time.Since(began))
					return c.answer.Result, c.answer.Err
				})})
				began = time.Now()
				queue.Add(req("web"))
				time.Sleep(99 * ms)
				synctest.Wait()
				require.Equal(t, c.want, looks)
			})
		})
	}
}

// A success ends the story of the failures before it: the next failure, next week, is retried soon.
func TestASuccessForgetsTheFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer returns
	}{
		{"success", returns{}},
		{"a delay", returns{Result: reconcile.Result{RequeueAfter: time.Hour}}},
		{"a terminal error", returns{Err: errPermanent}},
		{"a wait", returns{Err: errWaiting}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls calls
				failed := returns{Err: errBroken}
				_, queue := start(t, Options{Reconciler: calls.answering(failed, failed, failed, c.answer)})
				queue.Add(req("web"))
				time.Sleep(time.Second)
				require.Zero(t, queue.NumRequeues(req("web")))
			})
		})
	}
}

// A resync that fails must not push aside what users wait for, only because it is tried again.
func TestARetryKeepsThePriorityUnlessTheAnswerGivesAnother(t *testing.T) {
	low, high := workqueue.LowPriority, 5
	for _, c := range []struct {
		name   string
		answer returns
		want   int
	}{
		{"an error", returns{Err: errBroken}, low},
		{"an error with a priority", returns{Err: errBroken, Result: reconcile.Result{Priority: &high}}, high},
		{"requeue", returns{Result: reconcile.Result{Requeue: true}}, low},
		{"a delay", returns{Result: reconcile.Result{RequeueAfter: time.Second}}, low},
		{"a delay with a priority", returns{Result: reconcile.Result{RequeueAfter: time.Second, Priority: &high}}, high},
		{"a wait, looked at twice", returns{Err: errWaiting}, low},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var queue *workqueue.PriorityQueue[reconcile.Request]
				var added []int
				options := Options{Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					return c.answer.Result, c.answer.Err
				})}
				options.NewQueue = func(_ string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
					queue = workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{Limiter: limiter})
					return priorities{queue, &added}
				}
				_, _ = start(t, options)
				queue.AddWithOpts(workqueue.AddOpts{Priority: &low}, req("web"))
				synctest.Wait()
				require.NotEmpty(t, added)
				require.Equal(t, c.want, added[0])
			})
		})
	}
}

// priorities notes with which priorities a controller adds.
type priorities struct {
	*workqueue.PriorityQueue[reconcile.Request]
	added *[]int
}

func (p priorities) AddWithOpts(o workqueue.AddOpts, items ...reconcile.Request) {
	*p.added = append(*p.added, *o.Priority)
	p.PriorityQueue.AddWithOpts(o, items...)
}

func TestARequestThatWasGivenUpStartsOverWithTheNextEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{MaxRetries: 2, Reconciler: calls.answering(returns{Err: errBroken})})
		queue.Add(req("web"))
		time.Sleep(time.Hour)
		require.Len(t, calls.all(), 3, "the first look and two retries")
		require.Equal(t, []string{"1"}, measured(t, "loopwright_reconcile_given_up_total"))
		queue.Add(req("web"))
		time.Sleep(time.Hour)
		require.Len(t, calls.all(), 6)
		require.NoError(t, c.end())
		require.Equal(t, []string{"2"}, measured(t, "loopwright_reconcile_given_up_total"))
		require.Equal(t, []string{"6"}, measured(t, "controller_runtime_reconcile_errors_total"))
	})
}

func TestAsManyRequestsAreReconciledAtATimeAsThereAreWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, queue := start(t, Options{MaxConcurrentReconciles: 3, Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			<-release
			return reconcile.Result{}, nil
		})})
		require.Equal(t, []string{"3"}, measured(t, "controller_runtime_max_concurrent_reconciles"))
		for _, name := range []string{"a", "b", "c", "d"} {
			queue.Add(req(name))
		}
		synctest.Wait()
		require.Equal(t, []string{"3"}, measured(t, "controller_runtime_active_workers"))
		require.Equal(t, 1, queue.Len())
		close(release)
		synctest.Wait()
		require.Zero(t, queue.Len())
		require.NoError(t, c.end())
		require.Equal(t, []string{"0"}, measured(t, "controller_runtime_active_workers"))
		require.Equal(t, []string{"0"}, measured(t, "controller_runtime_max_concurrent_reconciles"), "it ended")
	})
}

// One tenant's thousand objects must not delay another's single one, if the user wants that. In controller-runtime
// they do.
func TestNamespacesTakeTurnsIfTheManagerIsStrict(t *testing.T) {
	require.Equal(t, []string{"shop/first", "shop/a", "shop/b", "shop/c", "blog/a"}, inTurn(t, config.Controller{}))
	require.Equal(t, []string{"shop/first", "shop/a", "blog/a", "shop/b", "shop/c"}, inTurn(t, config.Controller{Strict: true}))
}

// inTurn is the order in which a controller reconciles what waits.
func inTurn(t *testing.T, settings config.Controller) (order []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		options := Options{Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			<-release
			order = append(order, r.String())
			return reconcile.Result{}, nil
		})}
		options.DefaultFromConfig(settings)
		c, queue := start(t, options)
		queue.Add(req("first"))
		synctest.Wait()
		for _, name := range []string{"a", "b", "c"} {
			queue.Add(req(name))
		}
		other := req("a")
		other.Namespace = "blog"
		queue.Add(other)
		close(release)
		synctest.Wait()
		require.NoError(t, c.end())
	})
	return order
}

func TestAControllerRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := start(t, Options{Reconciler: new(calls).answering()})
		require.ErrorIs(t, c.Start(t.Context()), errStartedTwice, "while it runs")
		_, err := NewUnmanaged(t.Name(), Options{Reconciler: new(calls).answering()})
		require.Error(t, err, "the name is still that of the first")
		require.NoError(t, c.end())
		require.ErrorIs(t, c.Start(t.Context()), errStartedTwice, "after it has run")
	})
}

func TestAContextThatEndedStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := prepare(t, Options{Reconciler: new(calls).answering()})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, c.Start(ctx))
	})
}

// A reconciler that polls with Requeue has not failed. Its first real error must have all its
// retries, or an error that is over in a second costs the work.
func TestRequeueUsesUpNoRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		poll := returns{Result: reconcile.Result{Requeue: true}}
		c, queue := start(t, Options{MaxRetries: 2, Reconciler: calls.answering(poll, poll, poll, poll, returns{Err: errBroken}, returns{})})
		queue.Add(req("web"))
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		require.Len(t, calls.all(), 6)
		require.Equal(t, []string{"0"}, measured(t, "loopwright_reconcile_given_up_total"))
		require.Empty(t, c.retries.made, "what went well is not remembered")
	})
}

// A program with a million objects would remember each that has failed once.
func TestRetriesAreNotCountedWithoutALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, queue := start(t, Options{Reconciler: new(calls).answering(returns{Err: errBroken})})
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, c.end())
		require.Empty(t, c.retries.made)
	})
}

// Not every rate limiter counts. Whoever takes one that does not still wants an end of retries.
func TestRetriesAreLimitedWithEveryRateLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{MaxRetries: 2, RateLimiter: &workqueue.Bucket[reconcile.Request]{Limiter: rate.NewLimiter(rate.Every(time.Second), 1)}, Reconciler: calls.answering(returns{Err: errBroken})})
		queue.Add(req("web"))
		time.Sleep(time.Minute)
		require.NoError(t, c.end())
		require.Len(t, calls.all(), 3)
	})
}
