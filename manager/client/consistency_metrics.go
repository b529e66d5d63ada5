package client

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/manager/metrics"
)

// consistencyWait has controller-runtime's name, labels and buckets.
var consistencyWait = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:                            "controller_runtime_client_consistency_wait_duration_seconds",
	Help:                            "Time that reads from the cache have waited until it had seen earlier writes, in seconds.",
	Buckets:                         []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 6, 8, 10},
	NativeHistogramBucketFactor:     1.1,
	NativeHistogramMaxBucketNumber:  100,
	NativeHistogramMinResetDuration: time.Hour,
}, []string{"operation", "result"})

func init() { metrics.Registry.MustRegister(consistencyWait) }

func observeWait(operation string, duration time.Duration, err error) {
	result := "success"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		result = "timeout"
	case err != nil:
		result = "error"
	}
	consistencyWait.WithLabelValues(operation, result).Observe(duration.Seconds())
}
