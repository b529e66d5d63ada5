// Bug: only objects that still exist move the cursor, so a deletion comes twice.
package informer

import "k8s.io/apimachinery/pkg/watch"

func (c Cursor) Saw(event watch.EventType, resourceVersion string) (next Cursor, deliver bool) {
	switch event {
	case watch.Added, watch.Modified:
		deliver = true
	case watch.Deleted:
		return c, true
	case watch.Bookmark:
	default: // ERROR is no place in the history; see Failed
		return c, false
	}
	if resourceVersion == "" { // not every aggregated API server sends one
		return c, deliver
	}
	return Cursor{resourceVersion: resourceVersion}, deliver
}
