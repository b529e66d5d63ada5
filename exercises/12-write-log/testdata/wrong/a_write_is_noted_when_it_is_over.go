// Bug: a write is noted only when it is over.
package client

func (l *writeLog) begin(key ObjectKey) (done func()) {
	write := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	return func() {
		entry.inFlight.Insert(write)
		close(write)
		l.mu.Lock()
		defer l.mu.Unlock()
		entry.inFlight.Delete(write)
		l.dropLocked(key)
	}
}
