// Bug: the end of a write changes the log without its lock.
package client

func (l *writeLog) begin(key ObjectKey) (done func()) {
	write := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	entry.inFlight.Insert(write)
	return func() {
		close(write)
		entry.inFlight.Delete(write)
		l.dropLocked(key)
	}
}
