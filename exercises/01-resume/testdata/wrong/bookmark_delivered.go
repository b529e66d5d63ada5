// Bug: a bookmark is passed on as if an object had changed.
package informer

import "k8s.io/apimachinery/pkg/watch"

func (c Cursor) Saw(event watch.EventType, resourceVersion string) (next Cursor, deliver bool) {
	switch event {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		deliver = true
	default: // ERROR is no place in the history; see Failed
		return c, false
	}
	if resourceVersion == "" { // not every aggregated API server sends one
		return c, deliver
	}
	return Cursor{resourceVersion: resourceVersion}, deliver
}
