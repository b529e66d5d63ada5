package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/controller/priorityqueue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

var certificate = reconcile.ObjectRef{Group: "cert-manager.io", Kind: "Certificate", Namespace: "shop", Name: "web"}

// A retry after a delay that grows would ask too often at first, and come too late in the end.
func TestARequestThatWaitsIsLookedAtWhenTheObjectComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		exists := false
		c, queue := start(t, Options{WaitFallback: -1, Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			calls.add(r)
			if !exists {
				return reconcile.Result{}, reconcile.WaitFor(secret)
			}
			return reconcile.Result{}, nil
		})})
		queue.Add(req("web"))
		queue.Add(req("db"))
		time.Sleep(24 * time.Hour)
		require.ElementsMatch(t, []string{"web", "db", "web", "db"}, calls.all(), "nobody asks in between")

		c.Wake(certificate)
		synctest.Wait()
		require.Len(t, calls.all(), 4, "another object")

		exists = true
		c.Wake(secret)
		synctest.Wait()
		require.ElementsMatch(t, []string{"web", "db"}, calls.all()[4:])

		c.Wake(secret)
		synctest.Wait()
		require.Len(t, calls.all(), 6, "nobody waits any more")
		require.NoError(t, c.end())
		require.Equal(t, []string{"error 0", "requeue 0", "requeue_after 0", "success 2", "waiting 4"}, measured(t, "controller_runtime_reconcile_total"))
	})
}

// The object comes after the reconciler has looked, and before it has said that it waits. At that
// moment nobody is there to be woken.
func TestAWakeUpIsNotLostBetweenTheLookAndTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *running
		exists, looks := false, 0
		c, queue := start(t, Options{WaitFallback: -1, Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			looks++
			found := exists
			if looks == 1 {
				exists = true
				c.Wake(secret)
			}
			if !found {
				return reconcile.Result{}, reconcile.WaitFor(secret)
			}
			return reconcile.Result{}, nil
		})})
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, c.end())
		require.Equal(t, 2, looks)
	})
}

// A wake-up while a worker holds the request must lead to another look, because the worker may
// have looked before.
func TestAWakeUpDuringAReconcileIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *running
		looks := 0
		c, queue := start(t, Options{WaitFallback: -1, Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			looks++
			if looks == 3 {
				c.Wake(secret)
			}
			return reconcile.Result{}, reconcile.WaitFor(secret)
		})})
		queue.Add(req("web"))
		synctest.Wait()
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, c.end())
		require.Equal(t, 4, looks, "two when it begins to wait, one for the add, and one for the wake-up")
	})
}

// Nobody may watch the kind, or the handler may not call Wake.
func TestARequestThatNobodyWakesIsLookedAtAfterAWhile(t *testing.T) {
	for _, c := range []struct {
		name         string
		option, want time.Duration
	}{{"by default", 0, 10 * time.Minute}, {"after an hour", time.Hour, time.Hour}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls calls
				r, queue := start(t, Options{WaitFallback: c.option, Reconciler: calls.answering(returns{Err: errWaiting})})
				queue.Add(req("web"))
				time.Sleep(c.want - 1)
				require.Len(t, calls.all(), 2)
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				require.Len(t, calls.all(), 3)
				time.Sleep(c.want)
				synctest.Wait()
				require.Len(t, calls.all(), 4)
				require.NoError(t, r.end())
			})
		})
	}
}

func TestARequestWaitsForTheObjectOfItsLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{WaitFallback: -1, Reconciler: calls.answering(
			returns{Err: errWaiting}, returns{Err: reconcile.WaitFor(certificate)}, returns{Err: reconcile.WaitFor(certificate)}, returns{})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.Len(t, calls.all(), 3, "a second look for each object that it begins to wait for")
		c.Wake(secret)
		synctest.Wait()
		require.Len(t, calls.all(), 3)
		c.Wake(certificate)
		synctest.Wait()
		require.Len(t, calls.all(), 4)
		require.NoError(t, c.end())
	})
}

// What waits is kept in memory. It must go when the wait is over, however it ends.
func TestAWaitThatIsOverIsForgotten(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer returns
	}{
		{"by a success", returns{}},
		{"by an error that is not retried", returns{Err: errPermanent}},
		{"by a delay", returns{Result: reconcile.Result{RequeueAfter: time.Hour}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, queue := start(t, Options{Reconciler: new(calls).answering(returns{Err: errWaiting}, returns{Err: errWaiting}, c.answer)})
				queue.Add(req("web"))
				synctest.Wait()
				require.Len(t, r.waits.on(secret), 1)
				r.Wake(secret)
				synctest.Wait()
				require.NoError(t, r.end())
				require.Empty(t, r.waits.awaited)
				require.Empty(t, r.waits.requests)
			})
		})
	}
}

func TestAWakeUpBeforeTheStartDoesNoHarm(t *testing.T) {
	c := prepare(t, Options{Reconciler: new(calls).answering()})
	defer freeName(t.Name())
	c.Wake(secret)
}

func TestRequestsAreWokenInTheOrderOfTheirNames(t *testing.T) {
	var w waits[reconcile.Request]
	for _, name := range []string{"c", "a", "d", "b"} {
		_, waited := w.begin(req(name), secret, 0)
		require.False(t, waited)
	}
	other := req("z")
	other.Namespace = "blog"
	w.begin(other, secret, 0)
	before, waited := w.begin(req("a"), secret, 7)
	require.True(t, waited)
	require.Equal(t, secret, before)
	require.Equal(t, []waiting[reconcile.Request]{{other, 0}, {req("a"), 7}, {req("b"), 0}, {req("c"), 0}, {req("d"), 0}}, w.on(secret))
}

// A request whose wait ends must not take those with it that wait for the same object.
func TestTheEndOfAWaitLeavesTheOthersAlone(t *testing.T) {
	var w waits[reconcile.Request]
	w.begin(req("a"), secret, 0)
	w.begin(req("b"), secret, 0)
	w.begin(req("c"), certificate, 0)
	w.end(req("a"))
	w.end(req("stranger"))
	require.Equal(t, []waiting[reconcile.Request]{{req("b"), 0}}, w.on(secret))
	require.Equal(t, []waiting[reconcile.Request]{{req("c"), 0}}, w.on(certificate))
	_, waited := w.begin(req("a"), secret, 0)
	require.False(t, waited, "it has to be looked at twice once more")
	_, waited = w.begin(req("d"), reconcile.ObjectRef{}, 0)
	require.False(t, waited)
	_, waited = w.begin(req("d"), reconcile.ObjectRef{}, 0)
	require.True(t, waited, "even an object without a name")
}

// A reconciler that fails has not looked at the other object, so it does not know that the wait is
// over. If it is given up, the wake-up is all that can bring it back.
func TestAnErrorDoesNotEndAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{WaitFallback: -1, MaxRetries: 1, Reconciler: calls.answering(
			returns{Err: errWaiting}, returns{Err: errWaiting}, returns{Err: errBroken}, returns{Err: errBroken}, returns{})})
		queue.Add(req("web"))
		synctest.Wait()
		queue.Add(req("web"))
		time.Sleep(time.Hour)
		require.Len(t, calls.all(), 4, "it fails, is retried, and given up")
		require.Equal(t, []string{"1"}, measured(t, "loopwright_reconcile_given_up_total"))
		c.Wake(secret)
		synctest.Wait()
		require.Len(t, calls.all(), 5)
		require.NoError(t, c.end())
		require.Empty(t, c.waits.awaited, "the success ends it")
	})
}

// A reconciler may name another object each time, because of a bug or because two objects point to
// each other. Without a pause, it would keep a worker and the API server busy.
func TestAReconcilerThatDoesNotSettleForAnObjectBacksOff(t *testing.T) {
	for _, c := range []struct {
		name      string
		otherwise returns
		looks     int
		at        string
	}{
		{"it waits for another each time", returns{Err: errWaiting}, 9, "0, 0, 5, 15, 35, 75, 155, 315 and 635 ms"},
		{"it asks for a Requeue in between", returns{Result: reconcile.Result{Requeue: true}}, 16, "two at 0, 5, 15, 35, 75, 155, 315 and 635 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				r, queue := start(t, Options{WaitFallback: -1, Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					looks++
					switch {
					case looks > 1000: // or the test would never end
						return reconcile.Result{}, nil
					case looks%2 == 0:
						return c.otherwise.Result, c.otherwise.Err
					default:
						return reconcile.Result{}, reconcile.WaitFor(certificate)
					}
				})})
				queue.Add(req("web"))
				time.Sleep(time.Second)
				synctest.Wait()
				require.Equal(t, c.looks, looks, "looks are due at %s", c.at)
				require.NoError(t, r.end())
			})
		})
	}
}

// A wait for one object and then for another is no failure: when it settles, nothing is left of the
// delays.
func TestAWaitThatSettlesStartsOverWithTheShortestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{WaitFallback: -1, Reconciler: calls.answering(
			returns{Err: errWaiting}, returns{Err: reconcile.WaitFor(certificate)}, returns{Err: reconcile.WaitFor(certificate)})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.Len(t, calls.all(), 3)
		require.Zero(t, queue.NumRequeues(req("web")))
		require.NoError(t, c.end())
	})
}

// A request that a user waits for must not be overtaken by all others because it had to wait.
func TestAWokenRequestKeepsItsPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		gate := make(chan struct{})
		exists := false
		c, queue := start(t, Options{WaitFallback: -1, Reconciler: reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			calls.add(r)
			switch {
			case r.Name == "blocks":
				<-gate
			case r.Name == "urgent" && !exists:
				return reconcile.Result{}, errWaiting
			}
			return reconcile.Result{}, nil
		})})
		queue.(priorityqueue.PriorityQueue[reconcile.Request]).AddWithOpts(workqueue.AddOpts{Priority: new(7)}, req("urgent"))
		synctest.Wait()
		add(queue, "blocks")
		synctest.Wait()
		add(queue, "other")
		exists = true
		c.Wake(secret)
		close(gate)
		synctest.Wait()
		require.NoError(t, c.end())
		require.Equal(t, []string{"urgent", "urgent", "blocks", "urgent", "other"}, calls.all())
	})
}
