// Bug: a second write takes the place of the first.
package client

import "k8s.io/apimachinery/pkg/util/sets"

func (l *writeLog) begin(key ObjectKey) (done func()) {
	write := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	entry.inFlight = sets.New(write)
	return func() {
		close(write)
		l.mu.Lock()
		defer l.mu.Unlock()
		entry.inFlight.Delete(write)
		l.dropLocked(key)
	}
}
