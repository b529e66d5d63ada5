package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
)

// A terminal error is never retried. If it is not counted, no alert says that somebody has to act.
func TestATerminalErrorIsCountedAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, queue := start(t, Options{Reconciler: new(calls).answering(returns{Err: errBroken}, returns{Err: errPermanent})})
		queue.Add(req("web"))
		time.Sleep(time.Second)
		require.NoError(t, c.end())
		require.Equal(t, []string{"2"}, measured(t, "controller_runtime_reconcile_errors_total"))
		require.Equal(t, []string{"1"}, measured(t, "controller_runtime_terminal_reconcile_errors_total"))
	})
}

// The rules and dashboards that people have count on the buckets of controller-runtime.
func TestTheTimeOfAReconcileIsMeasuredInControllerRuntimesBuckets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(0)
		r, queue := start(t, Options{Recorder: recorder, Reconciler: reconcile.Func(
			func(context.Context, reconcile.Request) (reconcile.Result, error) {
				time.Sleep(9 * time.Second)
				return reconcile.Result{}, nil
			})})
		queue.Add(req("web"))
		time.Sleep(time.Minute)
		require.NoError(t, r.end())
		onlyEnds := trace.Filter{Kinds: []trace.Kind{trace.ReconcileEnd}}
		ends := onlyEnds.Select(recorder.Events())
		require.Len(t, ends, 1)
		require.Equal(t, 9*time.Second, ends[0].Took)

		sum, bounds, schema := histogram(t, "controller_runtime_reconcile_time_seconds")
		require.Equal(t, 9.0, sum)
		require.Equal(t, []float64{0.005, 0.01, 0.025, 0.05,
			0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
			1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9,
			10, 15, 20, 25, 30, 40, 50, 60}, bounds)
		require.EqualValues(t, 3, schema,
			"the buckets of a native histogram, which grow by 2^(1/8), the most below 1.1")
	})
}

// histogram returns the sum, the buckets and the native schema of a histogram of the test's controller.
func histogram(t *testing.T, name string) (sum float64, bounds []float64, schema int32) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != name || m.GetLabel()[0].GetValue() != t.Name() {
				continue
			}
			for _, bucket := range m.GetHistogram().GetBucket() {
				bounds = append(bounds, bucket.GetUpperBound())
			}
			require.NotNil(t, m.GetHistogram().Schema, "it is no native histogram")
			return m.GetHistogram().GetSampleSum(), bounds, m.GetHistogram().GetSchema()
		}
	}
	require.Fail(t, "there is no histogram "+name)
	return 0, nil, 0
}
