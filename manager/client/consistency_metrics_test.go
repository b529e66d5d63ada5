package client

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/metrics"
)

// scraped returns the buckets of the waits of an operation, and the schema of the native ones, as they are scraped.
func scraped(t *testing.T, operation string) (bounds []float64, schema int32) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() != "operation" || label.GetValue() != operation {
					continue
				}
				for _, bucket := range metric.GetHistogram().GetBucket() {
					bounds = append(bounds, bucket.GetUpperBound())
				}
				schema = metric.GetHistogram().GetSchema()
			}
		}
	}
	return bounds, schema
}

// Dashboards and alerts that were made for controller-runtime name these buckets.
func TestWaitsAreMeasuredInControllerRuntimesBuckets(t *testing.T) {
	waits := consistencyWait.WithLabelValues("of a test", "success")
	t.Cleanup(func() { consistencyWait.DeleteLabelValues("of a test", "success") })
	// A native bucket ends 2^(1/8) times higher than the one before it, and there are 100 of them at most.
	observe := func(n int) { waits.Observe(math.Exp2((float64(n) + 0.5) / 8)) }
	for n := range 100 {
		observe(n)
	}
	bounds, schema := scraped(t, "of a test")
	require.Equal(t, []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 6, 8, 10}, bounds)
	require.EqualValues(t, 3, schema, "a factor of at most 1.1 from bucket to bucket")
	observe(100)
	_, schema = scraped(t, "of a test")
	require.EqualValues(t, 2, schema, "with more than 100 buckets, they become wider")
}
