// Bug: a list of one namespace does not wait for objects that are in none.
package client

func (l *writeLog) keys(namespace string) []ObjectKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []ObjectKey
	for key := range l.entries {
		if namespace == "" || key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}
