package informer

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Cursor is how far in the history of a collection a reader has come: it has
// seen all that happened up to a resourceVersion, and nothing later. The zero
// Cursor has seen nothing.
type Cursor struct {
	resourceVersion string
}

// ResourceVersion is where the reader is; empty if it must list first.
func (c Cursor) ResourceVersion() string { return c.resourceVersion }

// MustList tells whether there is no place in the history to watch from.
func (c Cursor) MustList() bool { return c.resourceVersion == "" }

// WatchOptions ask for all that comes after the cursor, and for bookmarks.
func (c Cursor) WatchOptions() metav1.ListOptions {
	return metav1.ListOptions{} // TODO: from where?
}

// Listed is the cursor of a reader that has seen a whole list, which the server
// gave this resourceVersion.
func (c Cursor) Listed(resourceVersion string) Cursor {
	return c // TODO: where is a reader after a list?
}

// Saw moves the cursor past an event of a watch, and tells whether the event is
// news about an object, to be passed on.
func (c Cursor) Saw(event watch.EventType, resourceVersion string) (next Cursor, deliver bool) {
	return c, false // TODO: which events move the cursor, and which are passed on?
}

// Failed is where to go on after an error, of a request or of an ERROR event.
func (c Cursor) Failed(err error) Cursor {
	return c // TODO: after which error is the cursor worthless?
}

// isExpired is given: it recognises 410 under both of its reasons, Expired and
// Gone. The rest of the package uses it, too.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
