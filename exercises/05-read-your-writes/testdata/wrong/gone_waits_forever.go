// Bug: who waits for an object that is gone is not woken.
package informer

func (c *versionTracker) advanced(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached = version
}
