// Bug: all that is remembered of an object is forgotten, even what was written since.
package client

import "k8s.io/apimachinery/pkg/types"

func (l *writeLog) seen(key ObjectKey, version string, deleted []types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entries[key]
	if entry == nil {
		return
	}
	delete(l.entries, key)
}
