// Bug: the end of one write is the end of all.
package client

import "k8s.io/apimachinery/pkg/util/sets"

func (l *writeLog) begin(key ObjectKey) (done func()) {
	write := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	entry.inFlight.Insert(write)
	return func() {
		close(write)
		l.mu.Lock()
		defer l.mu.Unlock()
		entry.inFlight = sets.Set[chan struct{}]{}
		l.dropLocked(key)
	}
}
