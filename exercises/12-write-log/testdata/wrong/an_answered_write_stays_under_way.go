// Bug: a write that is over is still under way.
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
		l.dropLocked(key)
	}
}
