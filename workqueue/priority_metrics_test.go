package workqueue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
