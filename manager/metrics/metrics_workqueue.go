package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/workqueue"
)

// The names of the queue's metrics, without the subsystem that precedes them.
const (
	WorkQueueSubsystem         = "workqueue"
	DepthKey                   = "depth"
	AddsKey                    = "adds_total"
	QueueLatencyKey            = "queue_duration_seconds"
	WorkDurationKey            = "work_duration_seconds"
	UnfinishedWorkKey          = "unfinished_work_seconds"
	LongestRunningProcessorKey = "longest_running_processor_seconds"
	RetriesKey                 = "retries_total"
)

// WorkqueueMetricsProvider measures queues into the Registry. The queue's name is in two
// labels, name and controller: the first is client-go's, the second controller-runtime's.
type WorkqueueMetricsProvider struct{}

var _ workqueue.PriorityMetrics = WorkqueueMetricsProvider{}

var queueLabels = []string{"name", "controller"}

var queueMetrics = struct {
	adds, retries         *prometheus.CounterVec
	latency, workDuration *prometheus.HistogramVec
	gauges                *queueGauges
}{
	adds:         queueCounter(AddsKey, "Items that became work: adds, without those that were merged into work that waited already."),
	retries:      queueCounter(RetriesKey, "Items that were added with a delay, which is what a retry does."),
	latency:      queueHistogram(QueueLatencyKey, "Seconds that an item waited for a worker."),
	workDuration: queueHistogram(WorkDurationKey, "Seconds that a worker held an item."),
	gauges:       newQueueGauges(),
}

func queueCounter(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: WorkQueueSubsystem, Name: name, Help: help}, queueLabels)
}

func queueHistogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: WorkQueueSubsystem, Name: name, Help: help,
		Buckets:                         prometheus.ExponentialBuckets(10e-9, 10, 12),
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, queueLabels)
}

// Counter implements workqueue.MetricsProvider.
func (WorkqueueMetricsProvider) Counter(metric, queue string) workqueue.Counter {
	if metric == workqueue.MetricRetries {
		return queueMetrics.retries.WithLabelValues(queue, queue)
	}
	return queueMetrics.adds.WithLabelValues(queue, queue)
}

// Histogram implements workqueue.MetricsProvider.
func (WorkqueueMetricsProvider) Histogram(metric, queue string) workqueue.Histogram {
	if metric == workqueue.MetricWorkDuration {
		return queueMetrics.workDuration.WithLabelValues(queue, queue)
	}
	return queueMetrics.latency.WithLabelValues(queue, queue)
}

// Gauge implements workqueue.MetricsProvider.
func (WorkqueueMetricsProvider) Gauge(metric, queue string, read func() float64) (forget func()) {
	return queueMetrics.gauges.add(&queueGauge{metric: metric, queue: queue, read: read})
}

// GaugeByPriority implements workqueue.PriorityMetrics.
func (WorkqueueMetricsProvider) GaugeByPriority(metric, queue string, read func() map[int]float64) (forget func()) {
	return queueMetrics.gauges.add(&queueGauge{metric: metric, queue: queue, byPriority: read})
}
