package workqueue

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// fakeMetrics remembers what the queue wrote.
type fakeMetrics struct {
	mu       sync.Mutex // guards counts: a timer's goroutine counts, too
	counts   map[string]int
	observed map[string][]float64
	gauges   map[string]func() float64
}

func newFakeMetrics() *fakeMetrics {
	return &fakeMetrics{counts: map[string]int{}, observed: map[string][]float64{}, gauges: map[string]func() float64{}}
}

type inc func()

func (i inc) Inc() { i() }

type observe func(float64)

func (o observe) Observe(v float64) { o(v) }

func (f *fakeMetrics) Counter(metric, queue string) Counter {
	return inc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.counts[metric+" "+queue]++
	})
}

func (f *fakeMetrics) Histogram(metric, queue string) Histogram {
	return observe(func(v float64) { f.observed[metric+" "+queue] = append(f.observed[metric+" "+queue], v) })
}

func (f *fakeMetrics) Gauge(metric, queue string, read func() float64) func() {
	f.gauges[metric+" "+queue] = read
	return func() { delete(f.gauges, metric+" "+queue) }
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

// A metrics system may look at the queue while the queue calls it. It must not hang: it
// is called without the queue's lock.
func TestAMetricMayAskTheQueue(t *testing.T) {
	m := newFakeMetrics()
	q := New(Options[string]{Name: "fruit", Metrics: m})
	var depth int
	q.meter.adds = inc(func() { depth = q.Len() })
	q.Add("a")
	require.Equal(t, 1, depth)
}

// A queue that is gone must not be scraped forever, nor stay in memory for its gauges. But
// an operator who watches a drain wants to see it.
func TestTheGaugesGoWithTheQueueWhenItIsDrained(t *testing.T) {
	for name, shutDown := range inorder.Map(map[string]func(q *Queue[string]){
		"ShutDown": func(q *Queue[string]) { q.ShutDown() },
		"Drain":    func(q *Queue[string]) { go q.ShutDownWithDrain(); synctest.Wait() },
	}) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFakeMetrics()
				q := New(Options[string]{Name: "fruit", Metrics: m})
				q.Add("a")
				q.Add("b")
				q.Get()
				q.Add("a")
				shutDown(q)
				require.Equal(t, 2.0, m.gauges["workqueue_depth fruit"](), "a drain can be watched")
				q.Done("a")
				for range 2 {
					require.Len(t, m.gauges, 3, "something is left to do")
					item, _ := q.Get()
					q.Done(item)
				}
				require.Empty(t, m.gauges)
				m.gauges["the next queue's"] = nil
				q.ShutDown()
				q.ShutDownWithDrain()
				require.Len(t, m.gauges, 1, "a queue forgets its gauges once")
			})
		})
	}
}

// Most queues are empty most of the time. That is no reason to take them off the dashboard.
func TestTheGaugesStayWhenThereIsNothingToDo(t *testing.T) {
	m := newFakeMetrics()
	q := New(Options[string]{Name: "fruit", Metrics: m})
	q.Add("a")
	q.Get()
	q.Done("a")
	require.Len(t, m.gauges, 3)
}

func TestTheGaugesOfAnEmptyQueueGoAtItsShutdown(t *testing.T) {
	for _, shutDown := range []func(q *Queue[string]){(*Queue[string]).ShutDown, (*Queue[string]).ShutDownWithDrain} {
		m := newFakeMetrics()
		q := New(Options[string]{Name: "fruit", Metrics: m})
		shutDown(q)
		require.Empty(t, m.gauges)
	}
}

// A registry has a lock, which it holds while it reads gauges: to forget one under the
// queue's lock could hang both.
func TestAGaugeIsForgottenWithoutTheLock(t *testing.T) {
	var q *Queue[string]
	depths := 0
	q = New(Options[string]{Metrics: forgetting{newFakeMetrics(), func() { depths += q.Len() + 1 }}})
	q.Add("a")
	q.Get()
	q.ShutDown()
	q.Done("a")
	require.Equal(t, 3, depths, "each of the three gauges asked the queue")
}

// forgetting is a provider whose gauges call forget, or, if that is nil, have nothing to
// forget.
type forgetting struct {
	*fakeMetrics
	forget func()
}

func (f forgetting) Gauge(string, string, func() float64) func() { return f.forget }

func TestAProviderMayHaveNothingToForget(t *testing.T) {
	q := New(Options[string]{Metrics: forgetting{newFakeMetrics(), nil}})
	require.NotPanics(t, q.ShutDown)
}

func TestASecondShutdownIsNoAdd(t *testing.T) {
	m := newFakeMetrics()
	q := New(Options[string]{Name: "fruit", Metrics: m})
	q.ShutDown()
	q.ShutDown()
	q.ShutDownWithDrain()
	require.Zero(t, m.counts["workqueue_adds_total fruit"])
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
	q.Add("b")
	require.Equal(t, 3.0, depth())
	require.Equal(t, 1, q.Len())
	q.Done("a")
	require.Equal(t, 3.0, depth())
}
