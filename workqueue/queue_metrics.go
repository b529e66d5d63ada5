package workqueue

import (
	"fmt"
	"time"

	"github.com/loopwright/loopwright/trace"
)

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
// again. client-go's metric counts both, though its Len does not.
func (q *Queue[T]) depth() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return float64(len(q.dedup.dirty))
}

// unfinishedWork adds up for how long each item in work has been held.
func (q *Queue[T]) unfinishedWork() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var sum time.Duration
	for _, e := range q.dedup.processing {
		sum += q.now() - e.taken
	}
	return sum.Seconds()
}

// longestRunning is for how long the item has been held that was taken first.
func (q *Queue[T]) longestRunning() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var longest time.Duration
	for _, e := range q.dedup.processing {
		longest = max(longest, q.now()-e.taken)
	}
	return longest.Seconds()
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

// added counts items that are new work.
func (m *queueMeter) added(n int) {
	if m == nil {
		return
	}
	for range n {
		m.adds.Inc()
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

// The queue writes to the flight recorder while its lock is held, so that the timeline
// shows things in the order in which they happened. The recorder calls nothing itself.
// Only Options.Key, or the item's String method, is the user's code. Callers check
// Recorder.On first.

func (q *Queue[T]) recordAdd(item T, verdict verdict, causes Causes) {
	event := trace.Event{Kind: trace.Enqueue, Reason: causes.String(), Count: causes.Count}
	switch verdict {
	case merged:
		event.Outcome = trace.Deduplicated
	case deferred:
		event.Outcome = trace.Deferred
	}
	q.record(item, event)
}

// record fills in what is the same for all events of this layer.
func (q *Queue[T]) record(item T, event trace.Event) {
	event.Layer, event.Object = q.layer(), q.options.Kind
	if q.options.Key != nil {
		event.Namespace, event.Name = q.options.Key(item)
	} else {
		event.Name = fmt.Sprint(item)
	}
	q.options.Recorder.Record(event)
}

func (q *Queue[T]) layer() string {
	if q.options.Name == "" {
		return "queue"
	}
	return q.options.Name
}
