package workqueue

import (
	"sync"
	"time"
)

// TypedRateLimiter is client-go's name for RateLimiter.
type TypedRateLimiter[T comparable] = RateLimiter[T]

// TypedBucketRateLimiter is client-go's name for Bucket.
type TypedBucketRateLimiter[T comparable] = Bucket[T]

// TypedItemExponentialFailureRateLimiter is client-go's name for Exponential.
type TypedItemExponentialFailureRateLimiter[T comparable] = Exponential[T]

// TypedMaxOfRateLimiter is client-go's name for MaxOf.
type TypedMaxOfRateLimiter[T comparable] = MaxOf[T]

// DefaultTypedControllerRateLimiter is client-go's name for DefaultLimiter.
func DefaultTypedControllerRateLimiter[T comparable]() TypedRateLimiter[T] {
	return DefaultLimiter[T]()
}

// DefaultTypedItemBasedRateLimiter is DefaultLimiter without the limit for all items together,
// and begins at 1 ms.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}

// NewTypedItemExponentialFailureRateLimiter returns an Exponential. A base or a limit of zero
// means zero here, not a default.
func NewTypedItemExponentialFailureRateLimiter[T comparable](base, limit time.Duration) TypedRateLimiter[T] {
	return &Exponential[T]{Base: zeroMeansNone(base), Limit: zeroMeansNone(limit)}
}

// zeroMeansNone keeps a zero from being taken for the default. Less than zero is no delay.
func zeroMeansNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// NewTypedMaxOfRateLimiter returns a MaxOf.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	return MaxOf[T](limiters)
}

// TypedWithMaxWaitRateLimiter shortens the delays of a limiter. client-go keeps the fields to
// itself.
type TypedWithMaxWaitRateLimiter[T comparable] struct {
	RateLimiter[T]
	Max time.Duration
}

// When implements RateLimiter.
func (w TypedWithMaxWaitRateLimiter[T]) When(item T) time.Duration {
	return min(w.RateLimiter.When(item), w.Max)
}

// NewTypedWithMaxWaitRateLimiter returns a TypedWithMaxWaitRateLimiter.
func NewTypedWithMaxWaitRateLimiter[T comparable](limiter TypedRateLimiter[T], most time.Duration) TypedRateLimiter[T] {
	return TypedWithMaxWaitRateLimiter[T]{limiter, most}
}

// TypedItemFastSlowRateLimiter retries an item soon for a number of times, and from then on at
// long intervals. It suits failures that are over in a moment or last for hours.
type TypedItemFastSlowRateLimiter[T comparable] struct {
	fast, slow   time.Duration
	fastAttempts int

	mu      sync.Mutex // guards counter
	counter failureCounter[T]
}

// NewTypedItemFastSlowRateLimiter returns a TypedItemFastSlowRateLimiter.
func NewTypedItemFastSlowRateLimiter[T comparable](fast, slow time.Duration, fastAttempts int) TypedRateLimiter[T] {
	return &TypedItemFastSlowRateLimiter[T]{
		fast: fast, slow: slow, fastAttempts: fastAttempts,
		counter: failureCounter[T]{generationSize: 500_000}, // as for Exponential
	}
}

// When implements RateLimiter.
func (l *TypedItemFastSlowRateLimiter[T]) When(item T) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counter.failed(item) < l.fastAttempts {
		return l.fast
	}
	return l.slow
}

// Forget implements RateLimiter.
func (l *TypedItemFastSlowRateLimiter[T]) Forget(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counter.forget(item)
}

// NumRequeues implements RateLimiter.
func (l *TypedItemFastSlowRateLimiter[T]) NumRequeues(item T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counter.count(item)
}
