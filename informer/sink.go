package informer

// Sink is where a reflector delivers what it learns. Calls come from one
// goroutine, one after the other, in the order of the history.
//
// Guarantees: the first call is Replace. The versions of the calls never go
// back, with one exception: a server that was restored from a backup has
// itself gone back, and then a Replace says so. What the reflector hands over
// belongs to the sink; it keeps neither the slice nor the objects.
//
// Caveats: the reflector waits for every call. A sink that takes its time slows
// the reading down, and a server ends a watch that is not read.
type Sink[T Object] interface {
	// Replace is all there is at one moment. What the sink had and what is not
	// among the items is gone.
	Replace(items []T, resourceVersion string)
	// Apply is one change: ADDED, MODIFIED or DELETED.
	Apply(event Event[T])
	// Progress is a bookmark: nothing else happened up to this moment.
	Progress(resourceVersion string)
}
