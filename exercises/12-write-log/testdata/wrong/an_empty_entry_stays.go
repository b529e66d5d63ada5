// Bug: the entry of a write that is over stays, though there is nothing in it.
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
	}
}
