package metrics

import (
	"math"
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/util/workqueue"

	"github.com/loopwright/loopwright/workqueue"
)

// A program may have queues that it makes with client-go itself. client-go gets their metrics from
// one provider for the whole process. controller-runtime registers itself, and so do we; otherwise
// these queues would vanish from dashboards. As with the REST client's, the first package that
// registers wins.
func init() { clientgo.SetProvider(clientGoQueues{}) }

// clientGoQueues measures client-go's queues into the same metrics as ours.
type clientGoQueues struct{}

var queues WorkqueueMetricsProvider

func (clientGoQueues) NewAddsMetric(queue string) clientgo.CounterMetric {
	return queues.Counter(workqueue.MetricAdds, queue)
}

func (clientGoQueues) NewRetriesMetric(queue string) clientgo.CounterMetric {
	return queues.Counter(workqueue.MetricRetries, queue)
}

func (clientGoQueues) NewLatencyMetric(queue string) clientgo.HistogramMetric {
	return queues.Histogram(workqueue.MetricQueueDuration, queue)
}

func (clientGoQueues) NewWorkDurationMetric(queue string) clientgo.HistogramMetric {
	return queues.Histogram(workqueue.MetricWorkDuration, queue)
}

func (clientGoQueues) NewDepthMetric(queue string) clientgo.GaugeMetric {
	return writtenGauges.of(workqueue.MetricDepth, queue)
}

func (clientGoQueues) NewUnfinishedWorkSecondsMetric(queue string) clientgo.SettableGaugeMetric {
	return writtenGauges.of(workqueue.MetricUnfinishedWork, queue)
}

func (clientGoQueues) NewLongestRunningProcessorSecondsMetric(
	queue string,
) clientgo.SettableGaugeMetric {
	return writtenGauges.of(workqueue.MetricLongestRunning, queue)
}

// writtenGauges are the gauges of client-go's queues. client-go never says that a queue has ended,
// so all queues of one name share theirs, and none is forgotten.
var writtenGauges = &gaugesOfQueues{gauges: map[gaugeLabels]*writtenGauge{}}

type gaugesOfQueues struct {
	mu     sync.Mutex // guards gauges
	gauges map[gaugeLabels]*writtenGauge
}

func (g *gaugesOfQueues) of(metric, queue string) *writtenGauge {
	g.mu.Lock()
	defer g.mu.Unlock()
	labels := gaugeLabels{metric: metric, queue: queue}
	if found, ok := g.gauges[labels]; ok {
		return found
	}
	made := &writtenGauge{}
	queues.Gauge(metric, queue, made.read)
	g.gauges[labels] = made
	return made
}

// writtenGauge is a gauge whose queue writes it, where ours are read.
type writtenGauge struct{ bits atomic.Uint64 }

func (g *writtenGauge) read() float64     { return math.Float64frombits(g.bits.Load()) }
func (g *writtenGauge) Set(value float64) { g.bits.Store(math.Float64bits(value)) }
func (g *writtenGauge) Inc()              { g.add(1) }
func (g *writtenGauge) Dec()              { g.add(-1) }

func (g *writtenGauge) add(change float64) {
	for {
		old := g.bits.Load()
		if g.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+change)) {
			return
		}
	}
}
