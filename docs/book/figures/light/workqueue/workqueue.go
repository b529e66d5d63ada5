// Package workqueue has the interfaces of client-go's util/workqueue that the library's queues mention,
// and nothing of what that one imports: a page is not to wait for it.
package workqueue

import "time"

// TypedInterface is client-go's.
type TypedInterface[T comparable] interface {
	Add(item T)
	Len() int
	Get() (item T, shutdown bool)
	Done(item T)
	ShutDown()
	ShutDownWithDrain()
	ShuttingDown() bool
}

// TypedDelayingInterface is client-go's.
type TypedDelayingInterface[T comparable] interface {
	TypedInterface[T]
	AddAfter(item T, duration time.Duration)
}

// TypedRateLimitingInterface is client-go's.
type TypedRateLimitingInterface[T comparable] interface {
	TypedDelayingInterface[T]
	AddRateLimited(item T)
	Forget(item T)
	NumRequeues(item T) int
}

// TypedRateLimiter is client-go's.
type TypedRateLimiter[T comparable] interface {
	When(item T) time.Duration
	Forget(item T)
	NumRequeues(item T) int
}
