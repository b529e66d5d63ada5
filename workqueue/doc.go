// Package workqueue holds what a controller still has to do: which items, in
// which order, when, and for which worker.
//
// An item goes in by Add, as often as somebody thinks that it needs a look; it
// comes out by Get, once for all adds that came before; and Done says that the
// worker is finished with it. Each layer embeds the one below: Queue
// deduplicates, DelayingQueue waits, RateLimitingQueue retries, PriorityQueue
// puts first what matters more.
//
// The package's examples, queue to priorityQueue, are whole controllers, each with one more
// layer.
//
// Neighbours: below it are the standard library, golang.org/x/time/rate and the
// flight recorder; it knows nothing of Kubernetes. Above it are the informer's
// handlers, which add, and a controller's workers, which get.
package workqueue
