package metrics

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/workqueue"
)

// gathered returns what the Registry has about a queue: "metric{label=value ...} value".
// Histograms are counted.
func gathered(t *testing.T, queue string) (found []string) {
	t.Helper()
	families, err := Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			mine := false
			for _, pair := range m.GetLabel() {
				labels = append(labels, pair.GetName()+"="+pair.GetValue())
				mine = mine || pair.GetName() == "name" && pair.GetValue() == queue
			}
			if !mine {
				continue
			}
			slices.Sort(labels)
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
			if family.GetName() == workqueue.MetricUnfinishedWork ||
				family.GetName() == workqueue.MetricLongestRunning {
				value = min(value, 0) // how long is the queue's affair
			}
			found = append(found, fmt.Sprintf("%s{%s} %v", family.GetName(),
				strings.Join(labels, " "), value))
		}
	}
	slices.Sort(found)
	return found
}

func counterOf(t *testing.T, queue, metric string) string {
	t.Helper()
	for _, line := range gathered(t, queue) {
		if strings.HasPrefix(line, metric+"{") {
			return line
		}
	}
	return ""
}

// freshName is the name of a queue that no earlier run of the test has counted for: counters stay
// in the Registry.
func freshName(t *testing.T) string { return fmt.Sprint(t.Name(), " ", runs.Add(1)) }

var runs atomic.Int64

// A dashboard that was made for controller-runtime asks for exactly these.
func TestAQueueHasTheMetricsOfControllerRuntime(t *testing.T) {
	name := freshName(t)
	q := workqueue.NewPriority(workqueue.PriorityOptions[string]{Options: workqueue.Options[string]{Name: name, Metrics: WorkqueueMetricsProvider{}}})
	defer q.ShutDown()
	low := workqueue.LowPriority
	q.AddWithOpts(workqueue.AddOpts{Priority: &low}, "a", "b")
	q.AddWithOpts(workqueue.AddOpts{Priority: &low}, "a")
	q.Add("c")
	q.AddAfter("d", 1e18)
	item, _ := q.Get()
	require.Equal(t, "c", item)
	q.Done(item)
	item, _ = q.Get()
	labels := "{controller=" + name + " name=" + name
	require.Equal(t, []string{
		"workqueue_adds_total" + labels + "} 3",
		"workqueue_depth" + labels + " priority=-100} 1",
		"workqueue_depth" + labels + " priority=0} 0",
		"workqueue_longest_running_processor_seconds" + labels + "} 0",
		"workqueue_queue_duration_seconds" + labels + "} 2",
		"workqueue_retries_total" + labels + "} 1",
		"workqueue_unfinished_work_seconds" + labels + "} 0",
		"workqueue_work_duration_seconds" + labels + "} 1",
	}, gathered(t, name))
	q.Done(item)
}

func TestThePlainQueueHasADepthWithoutAPriority(t *testing.T) {
	q := workqueue.New(workqueue.Options[string]{Name: t.Name(),
		Metrics: WorkqueueMetricsProvider{}})
	q.Add("a")
	require.Equal(t, "workqueue_depth{controller="+t.Name()+" name="+t.Name()+" priority=} 1",
		counterOf(t, t.Name(), "workqueue_depth"))
	q.ShutDown()
	item, _ := q.Get()
	q.Done(item)
	require.Empty(t, counterOf(t, t.Name(), "workqueue_depth"), "a queue that is done has no gauge")
}

// A controller that is started again makes its queue while the old one drains. The registry
// refuses a value that is given twice, and would then serve nothing at all.
func TestTwoQueuesOfOneNameAreAddedUp(t *testing.T) {
	provider := WorkqueueMetricsProvider{}
	forget := provider.Gauge(workqueue.MetricDepth, t.Name(), func() float64 { return 3 })
	forgetOther := provider.Gauge(workqueue.MetricDepth, t.Name(), func() float64 { return 4 })
	require.Contains(t, counterOf(t, t.Name(), "workqueue_depth"), "} 7")
	forget()
	forget()
	require.Contains(t, counterOf(t, t.Name(), "workqueue_depth"), "} 4")
	forgetOther()
	require.Empty(t, counterOf(t, t.Name(), "workqueue_depth"),
		"a gauge that is kept keeps the queue in memory")
}

// A program that gives each item its own priority must not fill the metrics server's memory.
func TestManyPrioritiesShareALabel(t *testing.T) {
	depths := map[int]float64{}
	forget := WorkqueueMetricsProvider{}.GaugeByPriority(workqueue.MetricDepth, t.Name(),
		func() map[int]float64 {
			return depths
		})
	defer forget()
	for priority := range 25 {
		depths[priority] = 2
	}
	require.Len(t, gathered(t, t.Name()), 25)
	depths[25] = 1
	lines := gathered(t, t.Name())
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "priority=exceeded_cardinality_limit} 51")
}

func TestTheKeysAreThoseOfTheMetrics(t *testing.T) {
	for _, c := range []struct{ key, metric string }{
		{DepthKey, workqueue.MetricDepth}, {AddsKey, workqueue.MetricAdds}, {QueueLatencyKey,
			workqueue.MetricQueueDuration},
		{WorkDurationKey, workqueue.MetricWorkDuration}, {UnfinishedWorkKey,
			workqueue.MetricUnfinishedWork},
		{LongestRunningProcessorKey, workqueue.MetricLongestRunning}, {RetriesKey,
			workqueue.MetricRetries},
	} {
		require.Equal(t, c.metric, prometheus.BuildFQName("", WorkQueueSubsystem, c.key))
	}
}

// What every Go program should show, controller-runtime's show.
func TestTheRegistryHasTheProcessAndTheGoRuntime(t *testing.T) {
	families, err := Registry.Gather()
	require.NoError(t, err)
	var names []string
	for _, family := range families {
		names = append(names, family.GetName())
	}
	require.Contains(t, names, "go_goroutines")
	require.Contains(t, names, "go_memstats_alloc_bytes")
}

// The rules and dashboards that people have count on the buckets of controller-runtime.
func TestTheTimesOfAQueueAreMeasuredInControllerRuntimesBuckets(t *testing.T) {
	for _, metric := range []string{workqueue.MetricQueueDuration, workqueue.MetricWorkDuration} {
		WorkqueueMetricsProvider{}.Histogram(metric, t.Name()).Observe(0)
		families, err := Registry.Gather()
		require.NoError(t, err)
		found := false
		for _, family := range families {
			if family.GetName() != metric {
				continue
			}
			found = true
			histogram := family.GetMetric()[0].GetHistogram()
			var bounds []float64
			for _, bucket := range histogram.GetBucket() {
				bounds = append(bounds, bucket.GetUpperBound())
			}
			require.InEpsilonSlice(t, []float64{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1,
				10, 100, 1000}, bounds, 1e-9, metric)
			require.NotNil(t, histogram.Schema, "it is no native histogram")
			require.EqualValues(t, 3, histogram.GetSchema(),
				"the buckets of a native histogram, which grow by 2^(1/8), the most below 1.1")
		}
		require.True(t, found, metric)
	}
}

// A registry that does not know which metrics a collector has takes it twice, and then nothing can
// be gathered any more.
func TestARegistryRefusesTheGaugesASecondTime(t *testing.T) {
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(queueMetrics.gauges))
	require.Error(t, registry.Register(queueMetrics.gauges))
}
