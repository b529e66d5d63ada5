package workqueue

import "time"

// The metrics of a queue have the names that Kubernetes' components and
// controller-runtime give to those of client-go's queue, and count the same. A provider
// that labels them with the queue's name, as theirs do, fits the same dashboards.
const (
	MetricDepth          = "workqueue_depth"
	MetricAdds           = "workqueue_adds_total"
	MetricQueueDuration  = "workqueue_queue_duration_seconds"
	MetricWorkDuration   = "workqueue_work_duration_seconds"
	MetricUnfinishedWork = "workqueue_unfinished_work_seconds"
	MetricLongestRunning = "workqueue_longest_running_processor_seconds"
	MetricRetries        = "workqueue_retries_total"
)

// MetricsProvider makes the metrics of queues, in whatever system collects them. Each
// method gets one of the names above, and the queue's.
//
// client-go's has a method for each metric. Two of its gauges, unfinished work and
// longest running, are set twice a second, from a goroutine that goes over all items in
// work with the lock held. Here a gauge is read when somebody asks.
type MetricsProvider interface {
	Counter(metric, queue string) Counter
	Histogram(metric, queue string) Histogram
	// Gauge is given the function that reads the value, which may be called from any
	// goroutine at any time. The queue calls forget once, without its lock, when it is shut
	// down and its last item is done; until then, a drain can be watched. A gauge that is
	// kept would keep the queue in memory. A queue whose worker never calls Done for an
	// item never forgets. forget may be nil.
	//
	// A new queue may have taken the name by then, as when a controller restarts while the
	// old one drains: forget has to leave the new gauge alone.
	Gauge(metric, queue string, read func() float64) (forget func())
}

// Counter counts.
type Counter interface{ Inc() }

// Histogram collects durations, in seconds.
type Histogram interface{ Observe(seconds float64) }

// queueMeter has the metrics that the queue writes. Its methods are called without the
// queue's lock: a provider is the user's code. A nil queueMeter does nothing.
type queueMeter struct {
	adds, retries       Counter
	queueTime, workTime Histogram
	gauges              []func() // how to forget them; guarded by Queue.mu
}

func (q *Queue[T]) newMeter(from MetricsProvider) *queueMeter {
	name := q.options.Name
	return &queueMeter{
		gauges: []func(){
			from.Gauge(MetricDepth, name, q.depth),
			from.Gauge(MetricUnfinishedWork, name, q.unfinishedWork),
			from.Gauge(MetricLongestRunning, name, q.longestRunning),
		},
		adds:      from.Counter(MetricAdds, name),
		retries:   from.Counter(MetricRetries, name),
		queueTime: from.Histogram(MetricQueueDuration, name),
		workTime:  from.Histogram(MetricWorkDuration, name),
	}
}

// depth is how many items wait for a worker, and how many that workers hold were added
// again. client-go's metric counts both, though its Len does not. To walk over what is held
// takes as long as there are workers, and saves counting at each add.
func (q *Queue[T]) depth() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	depth := q.dedup.ready
	for range q.againLocked {
		depth++
	}
	return float64(depth)
}

// againLocked goes through the items that workers hold and that were added again.
func (q *Queue[T]) againLocked(yield func(*entry[T]) bool) {
	for e := q.dedup.working.first; e != nil; e = e.next {
		if e.dirty && !yield(e) {
			return
		}
	}
}

// unfinishedWork adds up for how long each item in work has been held. An item has been
// held for now minus the moment when it was taken, so n of them give n times now, minus
// the sum of these moments.
func (q *Queue[T]) unfinishedWork() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return (time.Duration(q.dedup.held)*q.now() - q.dedup.takenSum).Seconds()
}

// longestRunning is for how long the item has been held that was taken first.
func (q *Queue[T]) longestRunning() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dedup.held == 0 {
		return 0
	}
	return (q.now() - q.dedup.working.first.taken).Seconds()
}

// gaugesLocked returns how to forget the gauges, the first time that it is called.
func (m *queueMeter) gaugesLocked() (forget []func()) {
	if m != nil {
		forget, m.gauges = m.gauges, nil
	}
	return forget
}

// forgetAll calls what gaugesLocked returned.
func forgetAll(gauges []func()) {
	for _, forget := range gauges {
		if forget != nil {
			forget()
		}
	}
}

func (m *queueMeter) added(fresh bool) {
	if m != nil && fresh {
		m.adds.Inc()
	}
}

func (m *queueMeter) addedMany(n int) {
	for range n {
		m.added(true)
	}
}

// retried counts as client-go does: each AddAfter and AddRateLimited, even one without a
// delay, but none after a shutdown.
func (m *queueMeter) retried() {
	if m != nil {
		m.retries.Inc()
	}
}

func (m *queueMeter) took(waited time.Duration) {
	if m != nil {
		m.queueTime.Observe(waited.Seconds())
	}
}

func (m *queueMeter) worked(d time.Duration) {
	if m != nil {
		m.workTime.Observe(d.Seconds())
	}
}
