package workqueue

// RateLimitingQueue is a DelayingQueue that knows how long a failed item has to
// wait: it asks a RateLimiter.
//
// The three calls of a worker belong together. It gets an item. If the work
// fails, it calls AddRateLimited; if it succeeds, it calls Forget, or the next
// failure of the item, next week, waits as long as if there had been no success in
// between. In either case it calls Done.
//
// Caveats: after AddRateLimited, any Add brings the item forward. A change of the
// object is a reason to try at once; the failures are still counted.
//
// It satisfies client-go's workqueue.TypedRateLimitingInterface.
type RateLimitingQueue[T comparable] struct {
	DelayingQueue[T]
	limiter RateLimiter[T]
}

// NewRateLimiting returns a RateLimitingQueue; nil stands for DefaultLimiter.
func NewRateLimiting[T comparable](limiter RateLimiter[T], options Options[T]) *RateLimitingQueue[T] {
	q := new(RateLimitingQueue[T])
	q.initRateLimiting(limiter, options, &fifo[T]{})
	return q
}

func (q *RateLimitingQueue[T]) initRateLimiting(limiter RateLimiter[T], options Options[T], line line[T]) {
	q.initDelaying(options, line)
	if limiter == nil {
		limiter = DefaultLimiter[T]()
	}
	q.limiter = limiter
}

// AddRateLimited adds an item when the limiter says that it may be tried again.
func (q *RateLimitingQueue[T]) AddRateLimited(item T) {
	q.retry(item, wish{causes: Causes{Count: 1}})
}

// AddRateLimitedBecause is AddRateLimited with a reason, such as the error.
func (q *RateLimitingQueue[T]) AddRateLimitedBecause(item T, reason string) {
	q.retry(item, wish{causes: because(reason)})
}

// retry asks the limiter without the queue's lock: it is somebody else's code.
func (q *RateLimitingQueue[T]) retry(item T, w wish) {
	w.after = q.limiter.When(item)
	if q.options.Recorder.On() {
		w.failures = q.limiter.NumRequeues(item)
	}
	if q.want(item, w) {
		q.meter.retried()
	}
}

// Forget means that the item succeeded, or is given up: its next failure is its
// first. It does not take the item out of the queue, nor out of the worker's hands.
func (q *RateLimitingQueue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues is how often the item failed since it was last forgotten.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }
