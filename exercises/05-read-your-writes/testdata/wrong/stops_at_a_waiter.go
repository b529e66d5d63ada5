// Bug: progress of the whole ends at the first object for which somebody must go on waiting.
package informer

func (c *versionTracker) advanced(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = version
	for key := range c.waits {
		c.wakeLocked(key, version)
		if len(c.waits[key]) > 0 {
			return
		}
	}
}
