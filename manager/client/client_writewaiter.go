package client

import "context"

// WriteWaiter is what a cache offers to a client whose reads wait for its writes; see
// CacheOptions.EnableReadYourWritesConsistency. The client knows what was written, and the cache
// knows what it has seen.
//
// obj says of which kind and in which form the caller reads. A wait ends when the event has come,
// and not later; it ends with an error that wraps context.Cause if the context ends before. What
// need not be waited for is nil at once, even if the context has ended: so the client asks
// whether there is something to wait for, too.
type WriteWaiter interface {
	// Holds reports whether the cache has, or is about to get, the object as it was written. It is
	// called right after a write, with the object as the server answered it. It returns false if the
	// cache has no informer for this kind and form yet, because one that starts later lists the object;
	// if the object is in a namespace that is not in the cache; and if the cache's selectors do not
	// match. If in doubt, it returns true.
	Holds(written Object) bool
	// WaitFor waits until reads show the object no older than in this version: they show that
	// version, or a later one, or that it is gone since.
	WaitFor(ctx context.Context, obj Object, key ObjectKey, resourceVersion string) error
	// WaitForEnd waits until reads do not show an object of that name for which isOld returns true:
	// one that was deleted, or that the cache's selectors do not match any more. That reads show none
	// is enough, even if the cache is late and will show one again.
	WaitForEnd(ctx context.Context, obj Object, key ObjectKey, isOld func(Object) bool) error
}
