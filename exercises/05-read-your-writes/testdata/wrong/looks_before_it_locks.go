// Bug: the cache is asked before the lock is taken.
package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

func (c *versionTracker) wait(key Key, version string, cached func() string) (*versionWait, error) {
	if version == "" {
		return nil, fmt.Errorf("waiting for %s: %w", key, errNoVersion)
	}
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", key, err)
	}
	w := &versionWait{version: version, caught: make(chan struct{})}
	have := cached()
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.isMet(c.reached) || w.isMet(have) {
		close(w.caught)
		return w, nil
	}
	if c.waits == nil {
		c.waits = map[Key][]*versionWait{}
	}
	c.waits[key] = append(c.waits[key], w)
	return w, nil
}
