// Bug: an event that comes before anybody waits writes to a nil map.
package informer

func (c *versionTracker) stored(key Key, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakeLocked(key, version)
}

func (c *versionTracker) wakeLocked(key Key, version string) {
	var kept []*versionWait
	for _, w := range c.waits[key] {
		if w.isMet(version) {
			close(w.caught)
		} else {
			kept = append(kept, w)
		}
	}
	c.waits[key] = kept
	if len(kept) == 0 {
		delete(c.waits, key)
	}
}
