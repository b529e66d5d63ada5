// Package queue is a third party's that has a counterpart here.
package queue

type TypedInterface[T comparable] interface{ Add(item T) }

type TypedLimiter[T comparable] interface{ When(item T) int }

type Gone struct{}

func NewTyped[T comparable]() TypedInterface[T] { return nil }

type Config struct{ Clock int }

type Other struct{ Items int }
