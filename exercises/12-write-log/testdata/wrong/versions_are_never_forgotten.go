// Bug: a version that the cache has seen is remembered all the same.
package client

import "k8s.io/apimachinery/pkg/types"

func (l *writeLog) seen(key ObjectKey, version string, deleted []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entries[key]
	if entry == nil {
		return
	}
	entry.deleted.Delete(deleted...)
	l.dropLocked(key)
}
