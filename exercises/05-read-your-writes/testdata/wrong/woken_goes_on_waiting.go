// Bug: progress of the whole wakes those who wait, and keeps them in the map; the next progress closes a closed channel.
package informer

func (c *versionTracker) advanced(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = version
	for _, waits := range c.waits {
		for _, w := range waits {
			if w.isMet(version) {
				close(w.caught)
			}
		}
	}
}
