// Bug: the log is read without its lock.
package client

func (l *writeLog) keys(namespace string) []ObjectKey {
	var keys []ObjectKey
	for key := range l.entries {
		if namespace == "" || key.Namespace == "" || key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	return keys
}
