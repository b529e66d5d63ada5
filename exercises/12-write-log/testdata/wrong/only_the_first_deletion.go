// Bug: only the first deletion is remembered.
package client

import "k8s.io/apimachinery/pkg/types"

func (l *writeLog) removed(key ObjectKey, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if entry := l.entryLocked(key); len(entry.deleted) == 0 {
		entry.deleted.Insert(uid)
	}
}
