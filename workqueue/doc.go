// Package workqueue holds what a controller still has to do: which items, in which order, when, and
// for which worker.
//
// Add puts an item in, as often as somebody thinks that it needs work. Get hands it out, once for
// all earlier adds. Done says that the worker has finished with it. Each layer embeds the one
// below: Queue deduplicates, DelayingQueue waits, RateLimitingQueue retries, and PriorityQueue
// hands out important items first.
//
// The package's examples, queue to priorityQueue, are whole controllers, each with one more layer.
//
// Neighbours: below it are the standard library, golang.org/x/time/rate and the flight recorder; it
// knows nothing of Kubernetes. Above it are the informer's handlers, which add, and a controller's
// workers, which get.
package workqueue
