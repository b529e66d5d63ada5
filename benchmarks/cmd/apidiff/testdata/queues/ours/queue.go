// Package queue has some names as aliases of others.
package queue

type TypedInterface[T comparable] interface{ Add(item T) }

type Limiter[T comparable] interface{ When(item T) int }

type TypedLimiter[T comparable] = Limiter[T]

func NewTyped[T comparable]() TypedInterface[T] { return nil }

type NobodyAskedForThis struct{}

type Config struct{}

type Other func()
