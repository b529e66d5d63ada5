// Bug: versions that have no order are remembered.
package client

func (l *writeLog) wrote(key ObjectKey, version string, holds bool) {
	if version == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	if entry.version == "" || isNewer(version, entry.version) {
		entry.version, entry.holds = version, holds
	}
}
