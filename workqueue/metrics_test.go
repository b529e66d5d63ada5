package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeMetrics remembers what it was told.
type fakeMetrics struct {
	counts   map[string]int
	observed map[string][]float64
	gauges   map[string]func() float64
}

func newFakeMetrics() *fakeMetrics {
	return &fakeMetrics{map[string]int{}, map[string][]float64{}, map[string]func() float64{}}
}

type inc func()

func (i inc) Inc() { i() }

type observe func(float64)

func (o observe) Observe(v float64) { o(v) }

func (f *fakeMetrics) Counter(metric, queue string) Counter {
	return inc(func() { f.counts[metric+" "+queue]++ })
}

func (f *fakeMetrics) Histogram(metric, queue string) Histogram {
	return observe(func(v float64) { f.observed[metric+" "+queue] = append(f.observed[metric+" "+queue], v) })
}

func (f *fakeMetrics) Gauge(metric, queue string, read func() float64) {
	f.gauges[metric+" "+queue] = read
}

func TestTheMetricsAreThoseThatDashboardsKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMetrics()
		q := New(Options[string]{Name: "fruit", Metrics: m})
		q.Add("a")
		q.Add("a") // merged: no add of its own
		q.Add("b")
		require.Equal(t, 2.0, m.gauges["workqueue_depth fruit"]())
		time.Sleep(2 * time.Second)
		q.Get()
		time.Sleep(time.Second)
		q.Get()
		q.Add("a") // during work: counts as an add
		time.Sleep(3 * time.Second)
		require.Equal(t, 4.0+3.0, m.gauges["workqueue_unfinished_work_seconds fruit"]())
		require.Equal(t, 4.0, m.gauges["workqueue_longest_running_processor_seconds fruit"]())
		q.Done("a")
		require.Equal(t, 3.0, m.gauges["workqueue_unfinished_work_seconds fruit"]())
		require.Equal(t, 3.0, m.gauges["workqueue_longest_running_processor_seconds fruit"]())
		q.Done("b")
		require.Zero(t, m.gauges["workqueue_unfinished_work_seconds fruit"]())
		require.Zero(t, m.gauges["workqueue_longest_running_processor_seconds fruit"]())
		require.Equal(t, 3, m.counts["workqueue_adds_total fruit"])
		require.Equal(t, []float64{2, 3}, m.observed["workqueue_queue_duration_seconds fruit"])
		require.Equal(t, []float64{4, 3}, m.observed["workqueue_work_duration_seconds fruit"])
	})
}

// A metrics system that looks at the queue while it is told something must not
// hang: it is called without the queue's lock.
func TestAMetricMayAskTheQueue(t *testing.T) {
	m := newFakeMetrics()
	q := New(Options[string]{Name: "fruit", Metrics: m})
	var depth int
	q.meter.adds = inc(func() { depth = q.Len() })
	q.Add("a")
	require.Equal(t, 1, depth)
}

// How long an item waited is counted from its first add, whenever that was.
func TestAnItemsWaitBeginsWithItsFirstAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFakeMetrics()
		q := New(Options[string]{Name: "fruit", Metrics: m})
		time.Sleep(time.Second)
		q.Add("a")
		time.Sleep(time.Second)
		q.Add("a") // merged
		time.Sleep(3 * time.Second)
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4*time.Second, work.Waited)
		time.Sleep(time.Second)
		q.Add("a") // during work
		time.Sleep(time.Second)
		q.Add("a") // merged
		q.Done("a")
		time.Sleep(5 * time.Second)
		q.Get()
		require.Equal(t, []float64{4, 6}, m.observed["workqueue_queue_duration_seconds fruit"])
	})
}

// An alarm on the depth must see the work that piles up behind busy workers.
func TestTheDepthCountsWhatWasAddedDuringWork(t *testing.T) {
	m := newFakeMetrics()
	q := New(Options[string]{Name: "fruit", Metrics: m})
	depth := m.gauges["workqueue_depth fruit"]
	q.Add("a")
	q.Add("b")
	q.Get()
	q.Get()
	require.Zero(t, depth())
	q.Add("a")
	q.Add("a")
	q.Add("c")
	require.Equal(t, 2.0, depth())
	require.Equal(t, 1, q.Len())
	q.Done("a")
	require.Equal(t, 2.0, depth())
}
