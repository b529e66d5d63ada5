package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/reconcile"
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
	})
}

func TestARequestThatFailsIsRetriedLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls calls
		c, queue := start(t, Options{Reconciler: calls.answering(reconcile.Outcome{Err: errBroken})})
		queue.Add(req("web"))
		time.Sleep(5*time.Millisecond + 10*time.Millisecond + 20*time.Millisecond)
		synctest.Wait()
		require.Len(t, calls.all(), 4)
		require.NoError(t, c.end())
		require.Equal(t, []string{"4"}, measured(t, "controller_runtime_reconcile_errors_total"))
	})
}

func TestAStopWaitsForWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		c, queue := start(t, Options{Reconciler: reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			select {
			case <-time.After(5 * time.Second):
				finished = true
			case <-ctx.Done():
			}
			return reconcile.Result{}, nil
		})})
		queue.Add(req("web"))
		synctest.Wait()
		require.NoError(t, c.end())
		require.True(t, finished, "a reconcile within the grace period was cut off")
	})
}
