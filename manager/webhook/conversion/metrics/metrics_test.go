package metrics

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/metrics"
)

// An alert on a rate misses the first panic if the counter appears with it.
func TestPanicsAreCountedFromZero(t *testing.T) {
	count := func() float64 {
		families, err := metrics.Registry.Gather()
		require.NoError(t, err)
		for _, family := range families {
			if family.GetName() == "controller_runtime_conversion_webhook_panics_total" {
				require.Len(t, family.GetMetric(), 1)
				return family.GetMetric()[0].GetCounter().GetValue()
			}
		}
		t.Fatal("the registry has no such metric")
		return 0
	}
	require.Zero(t, count())
	WebhookPanics.WithLabelValues().Inc()
	require.EqualValues(t, 1, count())
	WebhookPanics.Reset()
	WebhookPanics.WithLabelValues()
}
