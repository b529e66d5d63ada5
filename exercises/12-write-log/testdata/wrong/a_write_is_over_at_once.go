// Bug: a write is over before it has begun.
package client

func (l *writeLog) begin(key ObjectKey) (done func()) {
	write := make(chan struct{})
	close(write)
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	entry.inFlight.Insert(write)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		entry.inFlight.Delete(write)
		l.dropLocked(key)
	}
}
