// Package metrics holds the metrics of controllers and of their queues, in one Prometheus registry.
//
// A controller and its queue count into it. The manager's metrics server reads from it; you can
// also use your own server.
//
// Names and labels are those of controller-runtime and client-go, so that existing dashboards and
// alerts keep working.
//
// Neighbours: below it are the Prometheus client and the queue's MetricsProvider. Above it are the
// controller and the manager.
package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/loopwright/loopwright/workqueue"
)

// RegistererGatherer is a registry: metrics are registered there, and read from it.
type RegistererGatherer interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// Registry has the metrics of all controllers of the process. Register your own here, and the
// metrics server serves them, too.
//
// Caveats: MustRegister panics if the name is taken. If you take one of our names before our package
// is initialized, your metric is served, ours isn't, and standard error says so. controller-runtime
// panics there.
var Registry RegistererGatherer = prometheus.NewRegistry()

// Metrics in package variables are registered when the package is loaded, as in controller-runtime:
// there's one registry for the process.
func init() {
	Registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll)),
		queueMetrics.adds, queueMetrics.retries, queueMetrics.latency, queueMetrics.workDuration,
		queueMetrics.gauges,
	)
}

// queueGauges reads the gauges of all queues when the metrics are scraped. It's one collector, and
// not a gauge for each queue, because two queues may have one name for a moment: a controller that
// is started again makes its queue while the old one drains. Their values are added up.
type queueGauges struct {
	descriptions map[string]*prometheus.Desc // by metric; never changed

	mu     sync.Mutex // guards gauges
	gauges map[*queueGauge]struct{}
}

// queueGauge is one gauge of one queue. It has one of the two functions.
type queueGauge struct {
	metric, queue string
	read          func() float64
	byPriority    func() map[int]float64
}

func newQueueGauges() *queueGauges {
	return &queueGauges{
		gauges: map[*queueGauge]struct{}{},
		descriptions: map[string]*prometheus.Desc{
			workqueue.MetricDepth: prometheus.NewDesc(workqueue.MetricDepth,
				"Items that wait for a worker, and items that were added again while a worker "+
					"held them.",
				append(queueLabels, "priority"), nil),
			workqueue.MetricUnfinishedWork: prometheus.NewDesc(workqueue.MetricUnfinishedWork,
				"Seconds that the items in work have been held so far, all together. "+
					"It grows by n a second if n workers hang.",
				queueLabels, nil),
			workqueue.MetricLongestRunning: prometheus.NewDesc(workqueue.MetricLongestRunning,
				"Seconds that the item has been held so far that was taken first.",
				queueLabels, nil),
		},
	}
}

func (g *queueGauges) add(gauge *queueGauge) (forget func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gauges[gauge] = struct{}{}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.gauges, gauge)
	}
}

// Describe implements prometheus.Collector.
func (g *queueGauges) Describe(to chan<- *prometheus.Desc) {
	for _, description := range g.descriptions {
		to <- description
	}
}

// gaugeLabels are the labels of a gauge. Priority is empty if the gauge has none.
type gaugeLabels struct{ metric, queue, priority string }

// Collect implements prometheus.Collector.
func (g *queueGauges) Collect(to chan<- prometheus.Metric) {
	for labels, value := range g.sums() {
		values := []string{labels.queue, labels.queue}
		if labels.metric == workqueue.MetricDepth {
			values = append(values, labels.priority)
		}
		to <- prometheus.MustNewConstMetric(g.descriptions[labels.metric], prometheus.GaugeValue,
			value, values...)
	}
}

// sums reads the gauges without holding the lock, because a read takes the lock of a queue.
func (g *queueGauges) sums() map[gaugeLabels]float64 {
	g.mu.Lock()
	gauges := make([]*queueGauge, 0, len(g.gauges))
	for gauge := range g.gauges {
		gauges = append(gauges, gauge)
	}
	g.mu.Unlock()
	sums := map[gaugeLabels]float64{}
	for _, gauge := range gauges {
		if gauge.read != nil {
			sums[gaugeLabels{gauge.metric, gauge.queue, ""}] += gauge.read()
			continue
		}
		values := gauge.byPriority()
		for priority, value := range values {
			label := priorityLabel(priority, len(values))
			sums[gaugeLabels{gauge.metric, gauge.queue, label}] += value
		}
	}
	return sums
}

// maxPriorities bounds how many values the label has for a queue, as in controller-runtime.
const maxPriorities = 25

// priorityLabel is the label of a priority in a queue with this many priorities.
func priorityLabel(priority, priorities int) string {
	if priorities > maxPriorities {
		return "exceeded_cardinality_limit"
	}
	return strconv.Itoa(priority)
}

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

// WorkqueueMetricsProvider measures queues into the Registry. The queue's name is in two labels,
// name and controller: the first is client-go's, the second controller-runtime's.
type WorkqueueMetricsProvider struct{}

var _ workqueue.PriorityMetrics = WorkqueueMetricsProvider{}

var queueLabels = []string{"name", "controller"}

var queueMetrics = struct {
	adds, retries         *prometheus.CounterVec
	latency, workDuration *prometheus.HistogramVec
	gauges                *queueGauges
}{
	adds: queueCounter(AddsKey, "Items that became work: adds, "+
		"without those that were merged into work that waited already."),
	retries: queueCounter(RetriesKey,
		"Items that were added with a delay, which is what a retry does."),
	latency:      queueHistogram(QueueLatencyKey, "Seconds that an item waited for a worker."),
	workDuration: queueHistogram(WorkDurationKey, "Seconds that a worker held an item."),
	gauges:       newQueueGauges(),
}

func queueCounter(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Subsystem: WorkQueueSubsystem, Name: name, Help: help}, queueLabels)
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
func (WorkqueueMetricsProvider) GaugeByPriority(
	metric, queue string, read func() map[int]float64,
) (forget func()) {
	return queueMetrics.gauges.add(&queueGauge{metric: metric, queue: queue, byPriority: read})
}
