// Bug: an ERROR event moves the cursor to its empty resourceVersion.
package informer

import "k8s.io/apimachinery/pkg/watch"

func (c Cursor) Saw(event watch.EventType, resourceVersion string) (next Cursor, deliver bool) {
	switch event {
	case watch.Added, watch.Modified, watch.Deleted:
		deliver = true
	case watch.Bookmark:
	}
	return Cursor{resourceVersion: resourceVersion}, deliver
}
