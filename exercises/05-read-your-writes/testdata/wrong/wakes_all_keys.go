// Bug: an event wakes those who wait for other objects as well.
package informer

func (c *versionTracker) stored(key Key, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waits) > 0 {
		for any := range c.waits {
			c.wakeLocked(any, version)
		}
	}
}
