// Package priorityqueue has controller-runtime's names for the queue of a controller, for
// sources and handlers that mention them. The queue itself is workqueue.PriorityQueue.
//
// Neighbours: below it is the workqueue. Above it are handlers that give priorities.
package priorityqueue

import (
	"github.com/go-logr/logr"

	"github.com/loopwright/loopwright/manager/metrics"
	"github.com/loopwright/loopwright/workqueue"
)

// AddOpts says how items are added.
type AddOpts = workqueue.AddOpts

// PriorityQueue is the interface of the queue that sources and handlers get from a controller. If
// its queue has no priorities, the reasons count all the same:
//
//	if queue, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
//		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, request)
//	}
type PriorityQueue[T comparable] interface {
	workqueue.TypedRateLimitingInterface[T]
	AddWithOpts(o AddOpts, items ...T)
	GetWithPriority() (item T, priority int, shutdown bool)
}

// Opts of New.
type Opts[T comparable] struct {
	// RateLimiter says how long rate-limited items wait; nil means 5 ms after the first failure,
	// doubled up to 1000 s.
	RateLimiter workqueue.TypedRateLimiter[T]
	// MetricProvider measures the queue; nil means metrics.WorkqueueMetricsProvider.
	MetricProvider workqueue.MetricsProvider
	// Log reports misuse of the queue, such as Done for an item that no worker holds.
	Log logr.Logger
}

// Opt changes Opts.
type Opt[T comparable] func(*Opts[T])

// New returns a workqueue.PriorityQueue with a name for its metrics.
func New[T comparable](name string, options ...Opt[T]) PriorityQueue[T] {
	opts := Opts[T]{MetricProvider: metrics.WorkqueueMetricsProvider{}}
	for _, option := range options {
		option(&opts)
	}
	return workqueue.NewPriority(workqueue.PriorityOptions[T]{
		Limiter: opts.RateLimiter,
		Options: workqueue.Options[T]{
			Name: name, Metrics: opts.MetricProvider,
			Report: func(err error) { opts.Log.Error(err, "Misused work queue", "queue", name) },
		},
	})
}
