// Bug: an answer without a version is remembered.
package client

import "k8s.io/apimachinery/pkg/util/resourceversion"

func (l *writeLog) wrote(key ObjectKey, version string, holds bool) {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil && version != "" {
		return // a dry run of a create has no version, and nobody can wait for one that has no order
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entryLocked(key)
	if entry.version == "" || isNewer(version, entry.version) {
		entry.version, entry.holds = version, holds
	}
}
