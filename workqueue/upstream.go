package workqueue

import (
	"sync"
	"time"
)

// This file has client-go's names for the types and functions of the other files. A program that
// uses them keeps compiling when it imports this package instead.

// TypedQueueConfig is client-go's, without a clock: tests of this library run in a synctest bubble,
// where time.Now is the clock. The zero value works.
type TypedQueueConfig[T comparable] struct {
	Name            string          // the queue's in metrics
	MetricsProvider MetricsProvider // nil measures nothing; client-go then asks SetProvider's
}

// TypedDelayingQueueConfig is the same as TypedQueueConfig: you can't replace the layer below any
// of ours.
type TypedDelayingQueueConfig[T comparable] = TypedQueueConfig[T]

// TypedRateLimitingQueueConfig is the same, too.
type TypedRateLimitingQueueConfig[T comparable] = TypedQueueConfig[T]

func optionsOf[T comparable](config TypedQueueConfig[T]) Options[T] {
	return Options[T]{Name: config.Name, Metrics: config.MetricsProvider}
}

// NewTyped is client-go's name for New.
func NewTyped[T comparable]() *Queue[T] { return New(Options[T]{}) }

// NewTypedWithConfig is client-go's name for New.
func NewTypedWithConfig[T comparable](config TypedQueueConfig[T]) *Queue[T] {
	return New(optionsOf(config))
}

// NewTypedDelayingQueue is client-go's name for NewDelaying.
func NewTypedDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewDelaying(Options[T]{})
}

// NewTypedDelayingQueueWithConfig is client-go's name for NewDelaying.
func NewTypedDelayingQueueWithConfig[T comparable](
	config TypedDelayingQueueConfig[T],
) TypedDelayingInterface[T] {
	return NewDelaying(optionsOf(config))
}

// NewTypedRateLimitingQueue is client-go's name for NewRateLimiting.
func NewTypedRateLimitingQueue[T comparable](
	limiter TypedRateLimiter[T],
) TypedRateLimitingInterface[T] {
	return NewRateLimiting(limiter, Options[T]{})
}

// NewTypedRateLimitingQueueWithConfig is client-go's name for NewRateLimiting.
func NewTypedRateLimitingQueueWithConfig[T comparable](
	limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T],
) TypedRateLimitingInterface[T] {
	return NewRateLimiting(limiter, optionsOf(config))
}

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

// DefaultTypedItemBasedRateLimiter is DefaultLimiter without the limit for all items together, and
// starts at 1 ms.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}

// NewTypedItemExponentialFailureRateLimiter returns an Exponential. Here a base or a limit of zero
// means zero, not the default.
func NewTypedItemExponentialFailureRateLimiter[T comparable](
	base, limit time.Duration,
) TypedRateLimiter[T] {
	return &Exponential[T]{Base: zeroMeansNone(base), Limit: zeroMeansNone(limit)}
}

// zeroMeansNone keeps a zero from being taken for the default. A negative value is no delay.
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

// TypedWithMaxWaitRateLimiter shortens the delays of a limiter. In client-go the fields are
// unexported.
type TypedWithMaxWaitRateLimiter[T comparable] struct {
	RateLimiter[T]
	Max time.Duration
}

// When implements RateLimiter.
func (w TypedWithMaxWaitRateLimiter[T]) When(item T) time.Duration {
	return min(w.RateLimiter.When(item), w.Max)
}

// NewTypedWithMaxWaitRateLimiter returns a TypedWithMaxWaitRateLimiter.
func NewTypedWithMaxWaitRateLimiter[T comparable](
	limiter TypedRateLimiter[T], most time.Duration,
) TypedRateLimiter[T] {
	return TypedWithMaxWaitRateLimiter[T]{limiter, most}
}

// TypedItemFastSlowRateLimiter retries an item soon for a number of times, and then at long
// intervals. It suits failures that either end in a moment or last for hours.
type TypedItemFastSlowRateLimiter[T comparable] struct {
	fast, slow   time.Duration
	fastAttempts int

	mu      sync.Mutex // guards counter
	counter failureCounter[T]
}

// NewTypedItemFastSlowRateLimiter returns a TypedItemFastSlowRateLimiter.
func NewTypedItemFastSlowRateLimiter[T comparable](
	fast, slow time.Duration, fastAttempts int,
) TypedRateLimiter[T] {
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
