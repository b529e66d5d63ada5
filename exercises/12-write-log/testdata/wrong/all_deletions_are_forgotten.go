// Bug: all deletions are forgotten, even those that the cache has not seen.
package client

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

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
	entry.deleted = sets.Set[types.UID]{}
	l.dropLocked(key)
}
