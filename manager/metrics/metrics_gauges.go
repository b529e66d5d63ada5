package metrics

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loopwright/loopwright/workqueue"
)

// queueGauges reads the gauges of all queues when somebody asks. It is a collector, and not a
// gauge for each queue, because two queues may have one name for a moment: a controller that is
// started again makes its queue while the old one drains. Their values are added up.
type queueGauges struct {
	descriptions map[string]*prometheus.Desc // by metric; not changed once made

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
				"Items that wait for a worker, and items that were added again while a worker held them.",
				append(queueLabels, "priority"), nil),
			workqueue.MetricUnfinishedWork: prometheus.NewDesc(workqueue.MetricUnfinishedWork,
				"Seconds that the items in work have been held so far, all together. It grows by n a second if n workers hang.",
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

// gaugeLabels tells the values of gauges apart. Priority is empty where there is none.
type gaugeLabels struct{ metric, queue, priority string }

// Collect implements prometheus.Collector.
func (g *queueGauges) Collect(to chan<- prometheus.Metric) {
	for labels, value := range g.sums() {
		values := []string{labels.queue, labels.queue}
		if labels.metric == workqueue.MetricDepth {
			values = append(values, labels.priority)
		}
		to <- prometheus.MustNewConstMetric(g.descriptions[labels.metric], prometheus.GaugeValue, value, values...)
	}
}

// sums reads the gauges. It does so without the lock, because a read takes the lock of a queue.
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
			sums[gaugeLabels{gauge.metric, gauge.queue, priorityLabel(priority, len(values))}] += value
		}
	}
	return sums
}

// maxPriorities bounds how many values the label has for a queue, as in controller-runtime.
const maxPriorities = 25

// priorityLabel is the label of a priority in a queue that has so many of them.
func priorityLabel(priority, priorities int) string {
	if priorities > maxPriorities {
		return "exceeded_cardinality_limit"
	}
	return strconv.Itoa(priority)
}
