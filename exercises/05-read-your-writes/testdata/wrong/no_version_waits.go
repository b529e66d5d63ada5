// Bug: a wait for no version at all never ends.
package informer

func (c *versionTracker) wait(key Key, version string, cached func() string) (*versionWait, error) {
	w := &versionWait{version: version, caught: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.isMet(c.reached) || w.isMet(cached()) {
		close(w.caught)
		return w, nil
	}
	if c.waits == nil {
		c.waits = map[Key][]*versionWait{}
	}
	c.waits[key] = append(c.waits[key], w)
	return w, nil
}
