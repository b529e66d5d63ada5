package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
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
				r, queue := start(t, Options{WaitFallback: c.option, Reconciler: calls.answering(reconcile.Outcome{Err: errWaiting})})
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
			reconcile.Outcome{Err: errWaiting}, reconcile.Outcome{Err: reconcile.WaitFor(certificate)}, reconcile.Outcome{Err: reconcile.WaitFor(certificate)}, reconcile.Outcome{})})
		queue.Add(req("web"))
		synctest.Wait()
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
		answer reconcile.Outcome
	}{
		{"by a success", reconcile.Outcome{}},
		{"by an error", reconcile.Outcome{Err: errPermanent}},
		{"by a delay", reconcile.Outcome{Result: reconcile.Result{RequeueAfter: time.Hour}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, queue := start(t, Options{Reconciler: new(calls).answering(reconcile.Outcome{Err: errWaiting}, reconcile.Outcome{Err: errWaiting}, c.answer)})
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
	var w waits
	for _, name := range []string{"c", "a", "d", "b"} {
		require.True(t, w.begin(req(name), secret))
	}
	other := req("z")
	other.Namespace = "blog"
	require.True(t, w.begin(other, secret))
	require.False(t, w.begin(req("a"), secret), "it waits already")
	require.Equal(t, []reconcile.Request{other, req("a"), req("b"), req("c"), req("d")}, w.on(secret))
}

// A request whose wait ends must not take those with it that wait for the same object.
func TestTheEndOfAWaitLeavesTheOthersAlone(t *testing.T) {
	var w waits
	w.begin(req("a"), secret)
	w.begin(req("b"), secret)
	w.begin(req("c"), certificate)
	w.end(req("a"))
	w.end(req("stranger"))
	require.Equal(t, []reconcile.Request{req("b")}, w.on(secret))
	require.Equal(t, []reconcile.Request{req("c")}, w.on(certificate))
	require.True(t, w.begin(req("a"), secret), "it has to be looked at twice once more")
	require.True(t, w.begin(req("d"), reconcile.ObjectRef{}), "even an object without a name")
}
