// Bug: only the last deletion is remembered.
package client

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

func (l *writeLog) removed(key ObjectKey, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entryLocked(key).deleted = sets.New(uid)
}
