// Bug: writes that are under way are forgotten when the cache has seen earlier ones.
package client

import "k8s.io/apimachinery/pkg/types"

func (l *writeLog) seen(key ObjectKey, version string, deleted []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entries[key]
	if entry == nil {
		return
	}
	if entry.version == version {
		entry.version = ""
	}
	entry.deleted.Delete(deleted...)
	clear(entry.inFlight)
	l.dropLocked(key)
}
