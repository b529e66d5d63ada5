// Package queue is somebody else's, of whom we have our own.
package queue

type Limiter interface{ Limit() int }

type Func func()
