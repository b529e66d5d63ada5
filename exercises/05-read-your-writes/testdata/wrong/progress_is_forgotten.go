// Bug: who comes after the cache has passed waits.
package informer

func (c *versionTracker) advanced(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.waits {
		c.wakeLocked(key, version)
	}
}
