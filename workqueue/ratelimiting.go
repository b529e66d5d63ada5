package workqueue

// RateLimitingQueue is a DelayingQueue that knows how long a failed item has to
// wait: it asks a RateLimiter.
//
// The three calls of a worker belong together. It gets an item. If the work
// fails, it calls AddRateLimited; if it succeeds, it calls Forget, or the next
// failure of the item, next week, waits as long as if there had been no success in
// between. In either case it calls Done.
//
// Caveats: AddRateLimited sets an alarm, as AddAfter does. An Add in the meantime is work of
// its own: the item is tried at once, because the object changed, and once more when its
// alarm is due. Forget does not cancel the alarm, as it does not with client-go; Cancel
// does. An item that fails again before its alarm is due keeps that
// alarm, and the failure is counted.
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

func (q *RateLimitingQueue[T]) initRateLimiting(limiter RateLimiter[T], options Options[T], order readyOrder[T]) {
	q.initDelaying(options, order)
	if limiter == nil {
		limiter = DefaultLimiter[T]()
	}
	q.limiter = limiter
}

// AddRateLimited adds an item when the limiter says that it may be tried again.
func (q *RateLimitingQueue[T]) AddRateLimited(item T) {
	q.retry(item, addRequest{causes: Causes{Count: 1}})
}

// AddRateLimitedBecause is AddRateLimited with a reason, such as the error.
func (q *RateLimitingQueue[T]) AddRateLimitedBecause(item T, reason string) {
	q.retry(item, addRequest{causes: because(reason)})
}

// retry asks the limiter without the queue's lock: it is the user's code.
func (q *RateLimitingQueue[T]) retry(item T, request addRequest) {
	request.after = q.limiter.When(item)
	if q.options.Recorder.On() {
		request.failures = q.limiter.NumRequeues(item)
	}
	if q.addRequested(item, request) {
		q.meter.retried()
	}
}

// Forget means that the item succeeded, or is given up: its next failure is its
// first. It does not take the item out of the queue, nor cancel its alarm.
func (q *RateLimitingQueue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues is how often the item failed since it was last forgotten.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }
