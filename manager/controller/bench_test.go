package controller

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/internal/logtest"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// BenchmarkReconcileNothing is a controller that starts with 10,000 objects, all of which are as
// they should be, from its start to the last reconcile.
func BenchmarkReconcileNothing(b *testing.B) {
	requests := make([]reconcile.Request, 10_000)
	for i := range requests {
		requests[i] = req(fmt.Sprint(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		left := len(requests)
		ctx, stop := context.WithCancel(b.Context())
		c, err := NewUnmanaged("nothing", Options{
			Logger: new(logtest.Collected).Logger(0),
			Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				if left--; left == 0 {
					stop()
				}
				return reconcile.Result{}, nil
			}),
		})
		require.NoError(b, err)
		require.NoError(b, c.Watch(sourceFunc(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			for _, request := range requests {
				queue.Add(request)
			}
			return nil
		})))
		require.NoError(b, c.Start(ctx))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(requests)), "ns/request")
}
