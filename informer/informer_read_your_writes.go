package informer

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

var errNoVersion = errors.New("there is no resourceVersion to wait for: either none was given, or the server gives this kind none")

// versionTracker knows which version a cache has reached, and wakes callers that wait for
// a later one. It is what lets a controller read its own writes.
type versionTracker struct {
	mu      sync.Mutex             // guards what follows
	reached string                 // the cache is complete up to this version of the collection
	waits   map[Key][]*versionWait // nil while nobody waits
}

// versionWait is a caller that waits for a version of an object.
type versionWait struct {
	version string
	caught  chan struct{} // closed by the tracker when the cache has caught up
}

// wait returns a wait whose channel is closed when the cache has caught up with the
// version of that key. cached returns the version of the object in the cache, and is
// called with the lock held.
func (c *versionTracker) wait(key Key, version string, cached func() string) (*versionWait, error) {
	if version == "" {
		return nil, fmt.Errorf("waiting for %s: %w", key, errNoVersion)
	}
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", key, err)
	}
	w := &versionWait{version: version, caught: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.isMet(c.reached) || w.isMet(cached()) {
		close(w.caught)
		return w, nil
	}
	if c.waits == nil {
		c.waits = map[Key][]*versionWait{}
	}
	c.waits[key] = append(c.waits[key], w)
	return w, nil
}

// isMet reports whether a version is the awaited one or a later one. Those of one
// collection grow with its changes, so they can be compared.
func (w *versionWait) isMet(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	return err == nil && order >= 0
}

// cancel removes a wait whose caller has given up. It may have been woken at the same
// moment; then there is nothing left to remove.
func (c *versionTracker) cancel(key Key, gone *versionWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waits[key]) == 0 {
		return
	}
	c.waits[key] = slices.DeleteFunc(c.waits[key], func(w *versionWait) bool { return w == gone })
	c.dropLocked(key)
}

// stored must be called for every object that was stored or deleted.
func (c *versionTracker) stored(key Key, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waits) > 0 {
		c.wakeLocked(key, version)
	}
}

// advanced must be called with the version that the cache has reached as a whole. It
// also wakes callers that wait for an object that is gone already.
func (c *versionTracker) advanced(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = version
	for key := range c.waits {
		c.wakeLocked(key, version)
	}
}

func (c *versionTracker) wakeLocked(key Key, version string) {
	c.waits[key] = slices.DeleteFunc(c.waits[key], func(w *versionWait) bool {
		met := w.isMet(version)
		if met {
			close(w.caught)
		}
		return met
	})
	c.dropLocked(key)
}

// dropLocked forgets a key for which nobody waits, and the map when nobody waits at
// all: a Go map keeps the memory of its largest size.
func (c *versionTracker) dropLocked(key Key) {
	if len(c.waits[key]) > 0 {
		return
	}
	if delete(c.waits, key); len(c.waits) == 0 {
		c.waits = nil
	}
}
