// Bug: the end of a write drops what the server has answered.
package client

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
		entry.inFlight.Delete(write)
		delete(l.entries, key)
	}
}
