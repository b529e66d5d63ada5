// Bug: the event of one object is taken for progress of the whole cache.
package informer

func (c *versionTracker) stored(key Key, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = version
	if len(c.waits) > 0 {
		c.wakeLocked(key, version)
	}
}
