// Bug: a deletion makes it forget the version that was written before.
package client

import "k8s.io/apimachinery/pkg/types"

func (l *writeLog) removed(key ObjectKey, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	entry.version = ""
	entry.deleted.Insert(uid)
}
