package workqueue

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// turnOf returns how many items of a higher priority come before one of a lower.
func turnOf(q *PriorityQueue[int]) int {
	low := LowPriority
	q.AddWithOpts(AddOpts{Priority: &low}, -1)
	for i := range 100 {
		q.Add(i)
	}
	for turn := 0; ; turn++ {
		if item, _ := q.Get(); item == -1 {
			return turn
		}
	}
}

func TestThePatienceIs32UnlessItIsGiven(t *testing.T) {
	require.Equal(t, 32, turnOf(NewPriority(PriorityOptions[int]{})))
	require.Equal(t, 7, turnOf(NewPriority(PriorityOptions[int]{Patience: 7})))
	require.Equal(t, 1, turnOf(NewPriority(PriorityOptions[int]{Patience: 1})))
	require.Equal(t, 1, turnOf(NewPriority(PriorityOptions[int]{Patience: -5})), "less than one would let the low ones go first")
}

func TestTheLimiterIsExponentialUnlessItIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewPriority(PriorityOptions[string]{})
		q.AddRateLimited("a")
		comesAfter(t, q, "a", 5*time.Millisecond)
		q.AddRateLimited("b")
		q.AddWithOpts(AddOpts{RateLimited: true, After: time.Nanosecond}, "b")
		comesAfter(t, q, "b", time.Nanosecond)
		for i := range 1000 {
			q.AddRateLimited(strconv.Itoa(i))
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1000, q.Len(), "no bucket is in the way of the items that failed once")
		q.ShutDown()
	})
}

// Somebody replaced a delay by now: the work has the priority of whichever asked for more.
func TestAnAlarmThatGoesOffEarlyKeepsItsPriority(t *testing.T) {
	for _, priority := range []int{5, -5} {
		q := NewPriority(PriorityOptions[string]{})
		q.AddWithOpts(AddOpts{After: time.Hour, Priority: &priority, Reason: "alarm"}, "a")
		q.ReplaceAfter("a", 0)
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, max(0, priority), work.Priority)
		require.Equal(t, 2, work.Causes.Count)
		require.Zero(t, q.Delayed())
		q.ShutDown()
	}
}

// An event in a storm must not pay for a text that nobody reads, and one that is read must say
// which object it is about.
func TestAReasonNamesItsObjectWhenItIsRead(t *testing.T) {
	for _, c := range []struct {
		opts AddOpts
		want string
	}{
		{AddOpts{Reason: "update of Pod *, through its owner", About: Subject{"shop", "web-1"}}, "update of Pod shop/web-1, through its owner"},
		{AddOpts{Reason: "* is late", About: Subject{Name: "n1"}}, "n1 is late"},
		{AddOpts{Reason: "* by *", About: Subject{Name: "n1"}}, "n1 by *"},
		{AddOpts{Reason: "4 * 5"}, "4 * 5"},
		{AddOpts{Reason: "no place for it", About: Subject{Name: "n1"}}, "no place for it"},
		{AddOpts{About: Subject{Name: "n1"}}, ""},
	} {
		q := NewPriority(PriorityOptions[string]{})
		q.AddWithOpts(c.opts, "a")
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.want, work.Causes.String())
		require.Equal(t, c.want, c.opts.ReasonText())
	}
}

// Ten changes of one Pod are one reason; those of two Pods are two.
func TestReasonsAboutDifferentObjectsAreDifferent(t *testing.T) {
	q := NewPriority(PriorityOptions[string]{})
	for _, name := range []string{"web-1", "web-2", "web-1", "web-3", "web-2"} {
		q.AddWithOpts(AddOpts{Reason: "Pod *", About: Subject{"shop", name}}, "a")
	}
	work, err := q.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Pod shop/web-1", "Pod shop/web-2", "Pod shop/web-3"}, work.Causes.Reasons())
	require.Equal(t, 5, work.Causes.Count)
}

// metricsByPriority is a provider that can tell priorities apart.
type metricsByPriority struct {
	*fakeMetrics
	depths func() map[int]float64
}

func (m *metricsByPriority) GaugeByPriority(metric, queue string, read func() map[int]float64) func() {
	if metric+" "+queue == "workqueue_depth fruit" {
		m.depths = read
	}
	return func() { m.depths = nil }
}

// Ten thousand items of a resync that wait are no alarm; ten of the users' are.
func TestTheDepthIsTheDepthOfEachPriority(t *testing.T) {
	m := &metricsByPriority{fakeMetrics: newFakeMetrics()}
	q := NewPriority(PriorityOptions[string]{Options: Options[string]{Name: "fruit", Metrics: m}})
	require.Equal(t, map[int]float64{0: 0}, m.depths(), "an empty queue is not one that is gone")
	q.AddWithOpts(AddOpts{Priority: priorityOf(LowPriority)}, "a", "b", "c")
	q.Add("d")
	q.Add("c") // is raised
	require.Equal(t, map[int]float64{LowPriority: 2, 0: 2}, m.depths())
	q.Get()
	require.Equal(t, map[int]float64{LowPriority: 2, 0: 1}, m.depths())
	require.NotContains(t, m.gauges, "workqueue_depth fruit", "a sum over all would count each item twice")
	require.Contains(t, m.gauges, "workqueue_unfinished_work_seconds fruit", "the other metrics are as they were")
	q.ShutDown()
	require.Equal(t, map[int]float64{LowPriority: 2, 0: 1}, m.depths(), "a scrape may come after the shutdown")
	for _, item := range []string{"d", "c", "a", "b"} {
		if item != "d" {
			q.Get()
		}
		require.NotNil(t, m.depths, "something is left to do")
		q.Done(item)
	}
	require.Nil(t, m.depths, "the gauge goes with the queue")
	require.Empty(t, m.gauges)
}

func TestAProviderThatKnowsNoPrioritiesGetsOneDepth(t *testing.T) {
	m := newFakeMetrics()
	q := NewPriority(PriorityOptions[string]{Options: Options[string]{Name: "fruit", Metrics: m}})
	q.AddWithOpts(AddOpts{Priority: priorityOf(LowPriority)}, "a", "b")
	q.Add("c")
	require.Equal(t, 3.0, m.gauges["workqueue_depth fruit"]())
}

func TestTheDepthOfAPriorityCountsWhatWasAddedDuringWork(t *testing.T) {
	m := &metricsByPriority{fakeMetrics: newFakeMetrics()}
	q := NewPriority(PriorityOptions[string]{Options: Options[string]{Name: "fruit", Metrics: m}})
	q.Add("a")
	q.Get()
	q.AddWithOpts(AddOpts{Priority: priorityOf(LowPriority)}, "a")
	require.Equal(t, map[int]float64{LowPriority: 1, 0: 0}, m.depths())
	q.AddWithOpts(AddOpts{Priority: priorityOf(3)}, "a")
	require.Equal(t, map[int]float64{3: 1, 0: 0}, m.depths(), "the highest of all adds counts")
	q.AddWithOpts(AddOpts{Priority: priorityOf(3)}, "b", "c")
	require.Equal(t, map[int]float64{3: 3, 0: 0}, m.depths(), "what waits counts, and what was added during work")
	q.Done("a")
	require.Equal(t, map[int]float64{3: 3, 0: 0}, m.depths())
}
