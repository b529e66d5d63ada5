// Bug: only objects that still exist move the cursor, so a deletion comes twice.

package informer

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

type Cursor struct {
	resourceVersion string
}

func (c Cursor) ResourceVersion() string { return c.resourceVersion }

func (c Cursor) MustList() bool { return c.resourceVersion == "" }

func (c Cursor) WatchOptions() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: c.resourceVersion, AllowWatchBookmarks: true}
}

func (c Cursor) Listed(resourceVersion string) Cursor {
	return Cursor{resourceVersion: resourceVersion}
}

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

func (c Cursor) Failed(err error) Cursor {
	if isExpired(err) {
		return Cursor{}
	}
	return c
}

func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
