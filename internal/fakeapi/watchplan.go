package fakeapi

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// The decisions of a watch, without its connection: what to send first, and
// what a change means to a client that sees only part of the objects.

// An event is one watch event before it is encoded.
type event struct {
	kind watch.EventType
	// of is the state that the event shows; nil for ERROR.
	of *version
	// status is set for ERROR only.
	status *metav1.Status
	// ends marks the bookmark that closes the initial events.
	ends bool
}

// seen is what a change means under a selection: an object that starts to
// match is added and one that stops to match is deleted, whatever happened to
// it really. ok is false if the client never saw it and still does not.
func seen(c *change, sel selection) (e event, ok bool) {
	was, is := sel.matches(c.key, c.before), sel.matches(c.key, c.after)
	switch {
	case is && was:
		return event{kind: watch.Modified, of: c.after}, true
	case is:
		return event{kind: watch.Added, of: c.after}, true
	case was:
		return event{kind: watch.Deleted, of: c.departure()}, true
	}
	return event{}, false
}

// A start is how a watch begins: with these events, and then with the changes
// after rv.
type start struct {
	events []event
	rv     uint64
}

// planStart decides how a watch begins. now is the version of the store.
func planStart(s *store, t *table, o listOptions, now uint64) (start, error) {
	switch {
	case o.SendInitialEvents != nil && *o.SendInitialEvents:
		return startWithState(t, o, now), nil
	case o.SendInitialEvents == nil && o.rv == 0:
		// A watch from nowhere, as old clients ask for it.
		return startWithState(t, o, now), nil
	case o.rv == 0:
		return start{rv: now}, nil
	case o.rv > now:
		// A version of the future is not an error: nothing is sent until then.
		return start{rv: o.rv}, nil
	case !s.remembers(t, o.rv):
		return start{}, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", o.rv, max(t.forgotten, s.compacted)))
	}
	return start{rv: o.rv}, nil
}

// startWithState sends what there is, as if it were just added, and then a
// bookmark that says that this was all.
func startWithState(t *table, o listOptions, now uint64) start {
	out := start{rv: now}
	for _, v := range t.now().page(o.selection, "", 0).items {
		out.events = append(out.events, event{kind: watch.Added, of: v})
	}
	if isWatchList(o.ListOptions) {
		out.events = append(out.events, event{kind: watch.Bookmark, ends: true})
	}
	return out
}

// isWatchList says whether the client waits for the end bookmark.
func isWatchList(o internalversion.ListOptions) bool {
	return o.SendInitialEvents != nil && *o.SendInitialEvents && o.AllowWatchBookmarks
}

// bookmark is an empty object that carries a version.
func bookmark(res *resource, rv uint64, ends bool) runtime.Object {
	obj := res.new()
	m := metaOf(obj)
	m.SetResourceVersion(strconv.FormatUint(rv, 10))
	if ends {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return obj
}
