// Bug: the channel of a write is never closed.
package client

func (l *writeLog) begin(key ObjectKey) (done func()) {
	write := make(chan struct{})
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
