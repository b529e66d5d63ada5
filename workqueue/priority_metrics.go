package workqueue

// PriorityMetrics is a MetricsProvider that can tell priorities apart. It is given the
// depth of a PriorityQueue by priority, instead of one number, so that their sum is
// the depth. controller-runtime does the same, with a label "priority".
//
// Caveats: a program with a priority for each item makes as many label values. A
// provider should stop at some number; controller-runtime's puts all into one after 25.
type PriorityMetrics interface {
	MetricsProvider
	// GaugeByPriority is given the function that reads the values of those priorities
	// of which there are items, and of priority 0. All else is as for Gauge.
	GaugeByPriority(metric, queue string, read func() map[int]float64) (forget func())
}

// depthByPriority is the provider that a PriorityQueue gives to the layers below it, which
// do not know about levels.
type depthByPriority struct {
	PriorityMetrics
	read func() map[int]float64
}

func (d depthByPriority) Gauge(metric, queue string, read func() float64) (forget func()) {
	if metric == MetricDepth {
		return d.GaugeByPriority(metric, queue, d.read)
	}
	return d.PriorityMetrics.Gauge(metric, queue, read)
}

// depths is depth by priority. It counts little: each level knows how many items it has.
func (q *PriorityQueue[T]) depths() map[int]float64 {
	depths := map[int]float64{0: 0}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, level := range q.levels.busy {
		depths[level.priority] = float64(level.n)
	}
	for e := range q.againLocked {
		depths[e.priority]++
	}
	return depths
}
