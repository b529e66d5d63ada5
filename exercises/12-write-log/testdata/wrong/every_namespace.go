// Bug: a list of one namespace waits for all namespaces.
package client

func (l *writeLog) keys(namespace string) []ObjectKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []ObjectKey
	for key := range l.entries {
		if true {
			keys = append(keys, key)
		}
	}
	return keys
}
