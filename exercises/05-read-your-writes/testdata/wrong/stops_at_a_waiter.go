// Bug: progress of the whole ends at the first object for which somebody must go on waiting.

package informer

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

type catchup struct {
	mu      sync.Mutex
	reached string
	waiting map[Key][]*catchupWait
}
type catchupWait struct {
	version string
	caught  chan struct{}
}

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
func (w *catchupWait) isMet(version string) bool {
	order, err := resourceversion.CompareResourceVersion(version, w.version)
	return err == nil && order >= 0
}
func (c *catchup) forget(key Key, gone *catchupWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[key] = slices.DeleteFunc(c.waiting[key], func(w *catchupWait) bool { return w == gone })
	if len(c.waiting[key]) == 0 {
		delete(c.waiting, key)
	}
}
func (c *catchup) saw(key Key, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 {
		c.wakeLocked(key, version)
	}
}
func (c *catchup) arrived(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = version
	for key := range c.waiting {
		c.wakeLocked(key, version)
		if len(c.waiting[key]) > 0 {
			return
		}
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
