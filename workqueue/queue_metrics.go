package workqueue

import (
	"fmt"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// The metrics of a queue have the names that Kubernetes' components and controller-runtime use for
// client-go's queue, and count the same. If a provider labels them with the queue's name, as theirs
// do, existing dashboards work.
const (
	// MetricDepth is how many items wait: for a worker, or, added again during work, for their Done.
	MetricDepth = "workqueue_depth"
	// MetricAdds counts the adds that were new work, and weren't merged.
	MetricAdds = "workqueue_adds_total"
	// MetricQueueDuration is how long items wait, from the first add to the worker. If it grows,
	// there are too few workers, or they're too slow.
	MetricQueueDuration = "workqueue_queue_duration_seconds"
	// MetricWorkDuration is how long a worker holds an item, from Get to Done.
	MetricWorkDuration = "workqueue_work_duration_seconds"
	// MetricUnfinishedWork is how long workers have held the items that they're working on, all
	// together. If it only grows, some worker hangs.
	MetricUnfinishedWork = "workqueue_unfinished_work_seconds"
	// MetricLongestRunning is how long a worker has held the item that was taken first.
	MetricLongestRunning = "workqueue_longest_running_processor_seconds"
	// MetricRetries counts the adds with a delay, and those after a failure.
	MetricRetries = "workqueue_retries_total"
)

// MetricsProvider makes the metrics of queues, in whatever system collects them. Each method gets
// one of the names above, and the queue's.
//
// client-go's has a method for each metric. Two of its gauges, unfinished work and longest running,
// are set twice a second, from a goroutine that goes over all items in progress with the lock held.
// Here a gauge is read when somebody needs it.
type MetricsProvider interface {
	Counter(metric, queue string) Counter
	Histogram(metric, queue string) Histogram
	// Gauge gets the function that reads the value; you may call it from any goroutine at any time.
	// The queue calls forget once, without its lock, when it's shut down and its last item is done;
	// until then, you can watch a drain. A gauge that isn't forgotten keeps the queue in memory. If
	// a worker never calls Done for an item, the queue never calls forget. forget may be nil.
	//
	// By then a new queue may have taken the name, for instance when a controller restarts while
	// the old one drains. So forget has to leave the new gauge alone.
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

// depth is how many items wait for a worker, plus how many were added again while workers hold
// them. client-go's metric counts both, although its Len doesn't.
func (q *Queue[T]) depth() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return float64(len(q.dedup.dirty))
}

// unfinishedWork is the total time that the items in progress have been held.
func (q *Queue[T]) unfinishedWork() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var sum time.Duration
	for _, e := range q.dedup.processing {
		sum += q.now() - e.taken
	}
	return sum.Seconds()
}

// longestRunning is how long the oldest item in progress has been held.
func (q *Queue[T]) longestRunning() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var longest time.Duration
	for _, e := range q.dedup.processing {
		longest = max(longest, q.now()-e.taken)
	}
	return longest.Seconds()
}

// gaugesLocked returns the functions that forget the gauges, but only the first time it's called.
func (m *queueMeter) gaugesLocked() (forget []func()) {
	if m != nil {
		forget, m.gauges = m.gauges, nil
	}
	return forget
}

// forgetAll calls the functions from gaugesLocked.
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

// retried counts as client-go does: each AddAfter and AddRateLimited, even without a delay, but
// none after a shutdown.
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

// The queue writes to the flight recorder while its lock is held, so that the timeline shows things
// in the order in which they happened. The recorder calls no other code. Only Options.Key, or the
// item's String method, is the user's code. Callers check Recorder.On first.

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

// record fills in the fields that are the same for all events of this layer.
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
