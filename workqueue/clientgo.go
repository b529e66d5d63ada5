package workqueue

import clientgo "k8s.io/client-go/util/workqueue"

// The types of this file are client-go's own interfaces. They're in signatures that a program's
// types have to match, and in Go only the same type does. The queues don't know these interfaces:
// they satisfy them by having the methods.

// TypedInterface has the methods of a Queue.
type TypedInterface[T comparable] = clientgo.TypedInterface[T]

// TypedDelayingInterface has the methods of a DelayingQueue.
type TypedDelayingInterface[T comparable] = clientgo.TypedDelayingInterface[T]

// TypedRateLimitingInterface has the methods of a RateLimitingQueue, and of a PriorityQueue.
type TypedRateLimitingInterface[T comparable] = clientgo.TypedRateLimitingInterface[T]

// RateLimiter decides how long an item has to wait until it's tried again. Its methods may be
// called from any goroutine:
//
//   - When counts a failure of the item, and says how long it has to wait.
//   - Forget means that the item succeeded, or that the caller has given up on it.
//   - NumRequeues is how often the item failed since it was last forgotten.
type RateLimiter[T comparable] = clientgo.TypedRateLimiter[T]

// TypedRateLimiter is client-go's name for RateLimiter.
type TypedRateLimiter[T comparable] = clientgo.TypedRateLimiter[T]
