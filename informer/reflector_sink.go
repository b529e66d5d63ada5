package informer

// Sink is where a reflector delivers what it learns. Calls come from one
// goroutine, one after the other, in the order of the history.
//
// Guarantees: the first call is Replace. The versions of the calls never go
// back, with one exception: a server that was restored from a backup has
// itself gone back, and then a Replace says so. What the reflector hands over
// belongs to the sink; it keeps neither the slice nor the objects.
//
// Caveats: the reflector waits for every call. A slow sink slows the watch down,
// and a server ends a watch that is not read. A Replace may have the version of
// the one before and still other objects: after a backup was restored, or after
// the server's conversion of the kind has changed. The list is the truth.
type Sink[T Object] interface {
	// Replace is all there is at one moment. What the sink had and what is not
	// among the items is gone. The version is empty where the server gives none;
	// then the collection is polled, and there are no other calls.
	Replace(items []T, resourceVersion string)
	// Apply is one change: ADDED, MODIFIED or DELETED.
	Apply(event Event[T])
	// Progress is a bookmark: nothing else happened up to this moment.
	Progress(resourceVersion string)
}
