// Bug: any event of the object ends the wait.
package informer

import "slices"

func (c *versionTracker) wakeLocked(key Key, version string) {
	c.waits[key] = slices.DeleteFunc(c.waits[key], func(w *versionWait) bool {
		met := version != ""
		if met {
			close(w.caught)
		}
		return met
	})
	c.dropLocked(key)
}
