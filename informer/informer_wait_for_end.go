package informer

import (
	"context"
	"fmt"
)

// WaitForEnd waits until the store does not hold an object of that key for which isOld returns true: it is
// gone, or there is another one. It is for a caller that has just deleted it, or changed it so that the selectors
// do not match it any more, and will read from the store: the answer to a deletion has no version for which
// WaitFor could wait. isOld must be fast. The event itself ends the wait; as with WaitFor, nobody can wait for
// kinds to which the server gives no versions.
func (i *Informer[T]) WaitForEnd(ctx context.Context, key Key, isOld func(T) bool) error {
	ended := func() bool {
		object, ok := i.store.Get(key)
		return !ok || !isOld(object)
	}
	for {
		wait := i.versions.waitForChange(key, ended)
		if wait == nil {
			return nil
		}
		var err error
		select {
		case <-wait.caught:
			continue // something has changed: look again
		case <-i.stopping:
			err = errInformerStopped
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		i.versions.cancel(key, wait)
		return fmt.Errorf("waiting for the end of %s: %w", key, err)
	}
}

// waitForChange returns a wait that any event of the key ends, and any progress of the cache; or nil if ended
// returns true, which is asked with the lock held, so that no event comes in between.
func (c *versionTracker) waitForChange(key Key, ended func() bool) *versionWait {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ended() {
		return nil
	}
	w := &versionWait{version: "1", caught: make(chan struct{})} // every version is that or a later one
	if c.waits == nil {
		c.waits = map[Key][]*versionWait{}
	}
	c.waits[key] = append(c.waits[key], w)
	return w
}
