// Bug: a list of all namespaces waits for nothing.
package client

func (l *writeLog) keys(namespace string) []ObjectKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []ObjectKey
	for key := range l.entries {
		if key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}
