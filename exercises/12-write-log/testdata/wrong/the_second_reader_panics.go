// Bug: the second of two reads that waited for the same panics.
package client

import "k8s.io/apimachinery/pkg/types"

func (l *writeLog) seen(key ObjectKey, version string, deleted []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entries[key]
	if entry.version == version {
		entry.version = ""
	}
	entry.deleted.Delete(deleted...)
	l.dropLocked(key)
}
