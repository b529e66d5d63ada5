// Bug: a deletion is not remembered.
package client

import "k8s.io/apimachinery/pkg/types"

func (l *writeLog) removed(key ObjectKey, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entryLocked(key)
	l.dropLocked(key)
}
