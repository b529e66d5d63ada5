package workqueue

import "time"

// This file and upstream_limiters.go have client-go's names for what the other files are. A
// program that mentions them goes on to compile when it imports this package instead. The queues
// do not know these interfaces: they satisfy them by having the methods.

// TypedInterface is client-go's name for what Queue does.
type TypedInterface[T comparable] interface {
	Add(item T)
	Len() int
	Get() (item T, shutdown bool)
	Done(item T)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
}

// TypedDelayingInterface is client-go's name for what DelayingQueue does.
type TypedDelayingInterface[T comparable] interface {
	TypedInterface[T]
	AddAfter(item T, duration time.Duration)
}

// TypedRateLimitingInterface is client-go's name for what RateLimitingQueue does, and
// PriorityQueue.
type TypedRateLimitingInterface[T comparable] interface {
	TypedDelayingInterface[T]
	AddRateLimited(item T)
	Forget(item T)
	NumRequeues(item T) int
}

// TypedQueueConfig is client-go's, without a clock: tests of this library run in a synctest
// bubble, where time.Now is the clock. The zero value works.
type TypedQueueConfig[T comparable] struct {
	Name            string          // the queue's in metrics
	MetricsProvider MetricsProvider // nil measures nothing; client-go then asks SetProvider's
}

// TypedDelayingQueueConfig is the same as TypedQueueConfig: none of our layers can be given
// another in the place of the one below it.
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
func NewTypedDelayingQueueWithConfig[T comparable](config TypedDelayingQueueConfig[T]) TypedDelayingInterface[T] {
	return NewDelaying(optionsOf(config))
}

// NewTypedRateLimitingQueue is client-go's name for NewRateLimiting.
func NewTypedRateLimitingQueue[T comparable](limiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewRateLimiting(limiter, Options[T]{})
}

// NewTypedRateLimitingQueueWithConfig is client-go's name for NewRateLimiting.
func NewTypedRateLimitingQueueWithConfig[T comparable](limiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T]) TypedRateLimitingInterface[T] {
	return NewRateLimiting(limiter, optionsOf(config))
}
