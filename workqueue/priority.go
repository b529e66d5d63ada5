package workqueue

import (
	"context"
	"time"
)

// PriorityQueue is a RateLimitingQueue in which more important items come first.
//
// Guarantees, besides those of the layers below: of several adds of an item the highest priority
// counts. Items of a lower priority still get at least one turn in Patience+n, where n is the
// number of priorities that wait. If there's a Group, the groups of a priority take turns.
//
// Caveats: priorities are for a few classes of work. Each of the lower ones takes one turn in
// Patience+1 while it waits: one of them costs the highest 3 percent of the turns. If there are
// more than Patience of them, the highest loses its precedence, and all take turns.
//
// With a Group, or when an item is raised to a higher priority, items come out in a different order
// than they went in.
//
// controller-runtime's queue of this name has four goroutines, five if it has a name, and two
// B-trees, and costs several times as much as a plain queue. A low class starves there while
// there's work in a higher one, and one tenant's ten thousand items come before another's single
// one.
type PriorityQueue[T comparable] struct {
	RateLimitingQueue[T]
	levels *priorityLevels[T] // guarded by Queue.mu
}

// PriorityOptions of a queue. The zero value works.
type PriorityOptions[T comparable] struct {
	Options[T]
	// Limiter says how long rate-limited items wait; nil means &Exponential[T]{}, which is what
	// controller-runtime uses.
	Limiter RateLimiter[T]
	// Group returns an item's group, such as its namespace. Nil means one group for all. It must
	// always return the same group for an item.
	Group func(item T) string
	// Patience is how many items of higher priorities may overtake a lower one that waits; 0 means
	// 32. There should be far fewer priorities than that.
	Patience int
}

// LowPriority is the class of work that can wait: the items of an initial list, and of a resync,
// which may not have changed at all. Work has priority 0 unless AddWithOpts sets another. The
// number is controller-runtime's.
const LowPriority = -100

// AddOpts says how an item is added. The zero value is a plain Add.
type AddOpts struct {
	// After is a delay; a negative one is now. With RateLimited, the limiter counts a failure and
	// returns its own delay. The shorter of the two counts, as in controller-runtime, but an After
	// of zero leaves it to the limiter.
	After       time.Duration
	RateLimited bool
	// Priority is the item's priority; nil means 0.
	Priority *int
	// Reason is for the worker, who finds it in Work.Causes.
	Reason string
	// About is the object that Reason is about, if there is one. Its namespace and name replace the
	// first * in Reason when somebody reads it, so it costs an add nothing.
	About Subject
}

// ReasonText is Reason with the name of the object in it, for queues that keep a string.
func (o AddOpts) ReasonText() string { return reason{o.Reason, o.About}.String() }

// NewPriority returns a PriorityQueue.
func NewPriority[T comparable](options PriorityOptions[T]) *PriorityQueue[T] {
	q := &PriorityQueue[T]{
		levels: &priorityLevels[T]{patience: uint64(max(or(options.Patience, 32), 1))},
	}
	q.group = options.Group
	if options.Limiter == nil {
		options.Limiter = &Exponential[T]{}
	}
	if provider, ok := options.Metrics.(PriorityMetrics); ok {
		options.Metrics = depthByPriority{provider, q.depths}
	}
	q.initRateLimiting(options.Limiter, options.Options, q.levels)
	return q
}

// AddWithOpts adds items with priority, delay and rate limit in one call. It counts the delayed ones
// as retries, as controller-runtime does. AddAfter and AddRateLimited count each call, as client-go
// does.
func (q *PriorityQueue[T]) AddWithOpts(o AddOpts, items ...T) {
	request := addRequest{
		after: o.After, causes: Causes{Count: 1, first: reason{o.Reason, o.About}},
	}
	if o.Priority != nil {
		request.priority = *o.Priority
	}
	for _, item := range items {
		if o.RateLimited {
			if request.after = q.limiter.When(item); o.After != 0 {
				request.after = min(request.after, o.After)
			}
			if q.options.Recorder.On() {
				request.failures = q.limiter.NumRequeues(item)
			}
		}
		if q.addWith(item, request) && request.after > 0 {
			q.meter.retried()
		}
	}
}

// GetWithPriority is Get, with the priority that the item has now.
func (q *PriorityQueue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	work, err := q.Next(context.Background())
	return work.Item, work.Priority, err != nil
}

// PriorityMetrics is a MetricsProvider that can tell priorities apart. It gets the depth of a
// PriorityQueue by priority, instead of one number; their sum is the depth. controller-runtime does
// the same, with a label "priority".
//
// Caveats: a program with a priority for each item makes a label value for each. A provider should
// stop at some number; controller-runtime's puts all others into one after 25.
type PriorityMetrics interface {
	MetricsProvider
	// GaugeByPriority gets the function that reads the values of the priorities that have items, and
	// of priority 0. Everything else is as for Gauge.
	GaugeByPriority(metric, queue string, read func() map[int]float64) (forget func())
}

// depthByPriority is the provider that a PriorityQueue gives to the layers below it, which don't
// know about levels.
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

// depths is depth by priority: items that wait, and items that workers hold and that were added
// again.
func (q *PriorityQueue[T]) depths() map[int]float64 {
	depths := map[int]float64{0: 0}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, level := range q.levels.levels {
		if level.n > 0 {
			depths[level.priority] = float64(level.n)
		}
	}
	for item := range q.dedup.processing {
		if again := q.dedup.dirty[item]; again != nil {
			depths[again.priority]++
		}
	}
	return depths
}
