package informer

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Cursor is how far a reader has come in the history of a collection: it has seen everything that
// happened up to a resourceVersion, and nothing later. The zero Cursor has seen nothing.
//
// It's a value without lock, clock or connection. The reader of a watch keeps one, passes it each
// event, and asks it where to resume when the watch ends. The reflector's machine uses neither
// Failed nor MustList: it decides for itself what follows an error.
type Cursor struct {
	resourceVersion string
}

// ResourceVersion is the reader's position; empty if it must list first.
func (c Cursor) ResourceVersion() string { return c.resourceVersion }

// MustList reports whether there's no place in the history to watch from.
func (c Cursor) MustList() bool { return c.resourceVersion == "" }

// WatchOptions request everything that comes after the cursor, with bookmarks: they keep the cursor
// of a quiet collection from growing too old.
func (c Cursor) WatchOptions() metav1.ListOptions {
	return metav1.ListOptions{ResourceVersion: c.resourceVersion, AllowWatchBookmarks: true}
}

// Listed is the cursor of a reader that has seen a whole list with this resourceVersion.
func (c Cursor) Listed(resourceVersion string) Cursor {
	return Cursor{resourceVersion: resourceVersion}
}

// Saw moves the cursor past an event of a watch, and says whether to deliver the event: whether
// it's news about an object.
//
// Every event moves it, even a deletion: a cursor that stayed behind would get the same event again
// after the next interruption. A bookmark does nothing else.
func (c Cursor) Saw(event watch.EventType, resourceVersion string) (next Cursor, deliver bool) {
	switch event {
	case watch.Added, watch.Modified, watch.Deleted:
		deliver = true
	case watch.Bookmark:
	default: // an ERROR isn't a place in the history; see Failed
		return c, false
	}
	if resourceVersion == "" { // not every aggregated API server sends one
		return c, deliver
	}
	return Cursor{resourceVersion: resourceVersion}, deliver
}

// Failed is where to resume after an error, of a request or of an ERROR event. After 410, the
// server no longer knows the history since the cursor, so the reader has to list again. After any
// other error the cursor is as good as before.
func (c Cursor) Failed(err error) Cursor {
	if isExpired(err) {
		return Cursor{}
	}
	return c
}

// isExpired recognises 410 under both of its reasons: Expired, when the
// resourceVersion or the continue token is too old, and Gone, its older name.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
