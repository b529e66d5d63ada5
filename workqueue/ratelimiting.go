package workqueue

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// RateLimitingQueue is a DelayingQueue that knows how long a failed item has to wait: it asks a
// RateLimiter.
//
// The three calls of a worker belong together. It gets an item. If the work fails, it calls
// AddRateLimited. If it succeeds, it calls Forget; otherwise the next failure of the item, next
// week, waits as long as if there had been no success in between. In either case it calls Done.
//
// Caveats: AddRateLimited sets an alarm, as AddAfter does. An Add in the meantime is separate work:
// the item is tried at once, because the object changed, and again when its alarm is due. Forget
// doesn't cancel the alarm, and neither does client-go's; Cancel does. An item that fails again
// before its alarm is due keeps that alarm, and the failure is counted.
//
// It satisfies client-go's workqueue.TypedRateLimitingInterface.
type RateLimitingQueue[T comparable] struct {
	DelayingQueue[T]
	limiter RateLimiter[T]
}

// NewRateLimiting returns a RateLimitingQueue; a nil limiter means DefaultLimiter.
func NewRateLimiting[T comparable](
	limiter RateLimiter[T], options Options[T],
) *RateLimitingQueue[T] {
	q := new(RateLimitingQueue[T])
	q.initRateLimiting(limiter, options, &fifo[T]{})
	return q
}

func (q *RateLimitingQueue[T]) initRateLimiting(
	limiter RateLimiter[T], options Options[T], order readyOrder[T],
) {
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

// retry calls the limiter without the queue's lock, because it's the user's code.
func (q *RateLimitingQueue[T]) retry(item T, request addRequest) {
	request.after = q.limiter.When(item)
	if q.options.Recorder.On() {
		request.failures = q.limiter.NumRequeues(item)
	}
	if q.addWith(item, request) {
		q.meter.retried()
	}
}

// Forget means that the item succeeded, or that the caller has given up on it: its next failure is
// its first. It neither takes the item out of the queue nor cancels its alarm.
func (q *RateLimitingQueue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues is how often the item failed since it was last forgotten.
func (q *RateLimitingQueue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// DefaultLimiter has the numbers of client-go's default: 5 ms after an item's first failure, then
// doubled up to 1000 s; and for all items together 10 a second after the first 100.
func DefaultLimiter[T comparable]() RateLimiter[T] {
	return MaxOf[T]{
		&Exponential[T]{},
		Bucket[T]{rate.NewLimiter(10, 100)},
	}
}

// Exponential doubles an item's delay with each failure. The zero value works. Don't change
// anything once it's in use.
type Exponential[T comparable] struct {
	Base  time.Duration // after the first failure; 0 means 5 ms
	Limit time.Duration // the longest delay; 0 means 1000 s
	// Remember bounds how many items are remembered, and is at least 2; 0 means 1,000,000. The last
	// Remember/2 items that failed wait exactly as long as they should; one whose failure is longer
	// ago may start again from Base. A hundred thousand items that are two strings take about 8 MB,
	// plus the strings. A map keeps the room that it once grew to.
	Remember int

	mu      sync.Mutex // guards counter
	counter failureCounter[T]
}

// When implements RateLimiter.
func (e *Exponential[T]) When(item T) time.Duration {
	return backoff(or(e.Base, 5*time.Millisecond), or(e.Limit, 1000*time.Second), e.failed(item))
}

func (e *Exponential[T]) failed(item T) (before int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counter.generationSize = max(1, or(e.Remember, 1_000_000)/2)
	return e.counter.failed(item)
}

// Forget implements RateLimiter.
func (e *Exponential[T]) Forget(item T) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counter.forget(item)
}

// NumRequeues implements RateLimiter.
func (e *Exponential[T]) NumRequeues(item T) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counter.count(item)
}

func or[N int | time.Duration](value, otherwise N) N {
	if value == 0 {
		return otherwise
	}
	return value
}

// Bucket limits all items together: a bucket of tokens that fills at a constant rate. It doesn't
// tell items apart, so there's nothing to forget. An item that fails when the bucket is empty waits
// for a future token.
type Bucket[T comparable] struct{ *rate.Limiter }

// When implements RateLimiter. If there will never be a token, it's the longest possible duration.
func (b Bucket[T]) When(T) time.Duration { return b.Reserve().Delay() }

// Forget implements RateLimiter.
func (Bucket[T]) Forget(T) {}

// NumRequeues implements RateLimiter.
func (Bucket[T]) NumRequeues(T) int { return 0 }

// MaxOf calls all its limiters, and takes the longest delay.
type MaxOf[T comparable] []RateLimiter[T]

// When implements RateLimiter.
func (m MaxOf[T]) When(item T) (longest time.Duration) {
	for _, limiter := range m {
		longest = max(longest, limiter.When(item))
	}
	return longest
}

// Forget implements RateLimiter.
func (m MaxOf[T]) Forget(item T) {
	for _, limiter := range m {
		limiter.Forget(item)
	}
}

// NumRequeues implements RateLimiter.
func (m MaxOf[T]) NumRequeues(item T) (most int) {
	for _, limiter := range m {
		most = max(most, limiter.NumRequeues(item))
	}
	return most
}

// Jitter makes a limiter's delays longer, each by a random part. So items that failed at the same
// moment, because the API server was away, don't all come back at the same moment.
type Jitter[T comparable] struct {
	RateLimiter[T]
	// Fraction is how much longer a delay gets at most: with 0.2, by a fifth.
	Fraction float64
	// Random is a number from 0 up to 1; nil means rand.Float64.
	Random func() float64
}

// When implements RateLimiter.
func (j Jitter[T]) When(item T) time.Duration {
	random := j.Random
	if random == nil {
		random = rand.Float64
	}
	delay := j.RateLimiter.When(item)
	if delay <= 0 {
		return delay
	}
	more := float64(delay) * j.Fraction * random()
	if more >= math.MaxInt64 { // it would be a negative Duration
		return math.MaxInt64
	}
	return later(delay, time.Duration(more))
}

// backoff is the delay after a number of failures: base, twice base, four times
// base, and so on, but never more than limit.
//
// client-go raises 2 to a power in floating point and then checks whether the result fits. Shifting
// integers after a check is exact, and shorter.
func backoff(base, limit time.Duration, failures int) time.Duration {
	if base <= 0 {
		return 0
	}
	if failures > 62 || base > limit>>failures {
		return limit
	}
	return base << failures
}

// failureCounter counts how often items failed. It remembers a limited number of items: certainly
// those that failed last, up to half of the limit, and at most as many others. If more than half of
// the limit fail in turn, some are forgotten before they fail again; if more than the limit, all
// are, and none gets beyond the first step. So the limit has to be far above the number of items
// that fail.
//
// It's there for callers that never forget an item. A controller that doesn't call Forget for
// deleted objects would otherwise remember each of them until the process ends, as with client-go.
//
// It has two generations. A failure puts the item into the young one. When that is full, it becomes
// the old one. Items of the previous old generation that haven't failed again are forgotten. A list
// in the order of the last failures would be exact, but would cost a link for each item, and a move
// for each failure.
type failureCounter[T comparable] struct {
	young, old     map[T]int
	generationSize int // how many items fit into a generation; 0 is no limit
}

// failed counts a failure, and returns how many there were before.
func (f *failureCounter[T]) failed(item T) (before int) {
	before, known := f.young[item]
	if !known {
		before = f.old[item]
		if f.generationSize > 0 && len(f.young) >= f.generationSize {
			f.young, f.old = nil, f.young
		}
	}
	if f.young == nil {
		f.young = map[T]int{}
	}
	f.young[item] = before + 1
	return before
}

// count returns how often an item failed since it was last forgotten.
func (f *failureCounter[T]) count(item T) int {
	if count, known := f.young[item]; known {
		return count
	}
	return f.old[item]
}

// forget means that the item succeeded, or that the caller has given up on it.
func (f *failureCounter[T]) forget(item T) {
	delete(f.young, item)
	delete(f.old, item)
}
