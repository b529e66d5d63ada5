package informer

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// catchup knows how far a cache has come, and wakes those who wait for it to come
// further. It is what makes a controller read its own writes.
type catchup struct {
	mu      sync.Mutex             // guards what follows
	reached string                 // the cache is complete up to this version of the collection
	waiting map[Key][]*catchupWait // nil until somebody waits
}

// catchupWait is somebody who waits for a version of an object.
type catchupWait struct {
	version string
	caught  chan struct{} // closed by catchup
}

// wait returns a channel that is closed when the cache has caught up with the
// version of that key. cached is asked, with the lock held, for the version of the
// object in the cache.
func (c *catchup) wait(key Key, version string, cached func() string) (*catchupWait, error) {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", key, err)
	}
	w := &catchupWait{version: version, caught: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.isMet(c.reached) || w.isMet(cached()) {
		close(w.caught)
		return w, nil
	}
	if c.waiting == nil {
		c.waiting = map[Key][]*catchupWait{}
	}
	c.waiting[key] = append(c.waiting[key], w)
	return w, nil
}

// isMet tells whether a version is at least the one that is waited for. Those of one
// collection grow with its changes, so they can be compared.
func (w *catchupWait) isMet(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	return err == nil && order >= 0
}

// forget takes back a wait that nobody waits for any more. It may have been woken in
// the same moment; then nothing is left to take back.
func (c *catchup) forget(key Key, gone *catchupWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting[key]) == 0 {
		return
	}
	c.waiting[key] = slices.DeleteFunc(c.waiting[key], func(w *catchupWait) bool { return w == gone })
	if len(c.waiting[key]) == 0 {
		delete(c.waiting, key)
	}
}

// saw is told of every object that was stored or deleted.
func (c *catchup) saw(key Key, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 {
		c.wakeLocked(key, version)
	}
}

// arrived is told how far the cache has come as a whole. This wakes those who wait
// for an object that is gone already.
func (c *catchup) arrived(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = version
	for key := range c.waiting {
		c.wakeLocked(key, version)
	}
}

func (c *catchup) wakeLocked(key Key, version string) {
	c.waiting[key] = slices.DeleteFunc(c.waiting[key], func(w *catchupWait) bool {
		met := w.isMet(version)
		if met {
			close(w.caught)
		}
		return met
	})
	if len(c.waiting[key]) == 0 {
		delete(c.waiting, key)
	}
}
