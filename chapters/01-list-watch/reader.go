package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/informer"
)

// reader keeps a copy of a collection: the simplest thing that can be built from
// a list, a watch and a cursor. It reads only when the demo calls it, so that the
// story stays in order. Chapter 3's reflector reads all the time.
type reader[T informer.Object] struct {
	title  string
	from   informer.ListerWatcher[T]
	cursor informer.Cursor
	watch  informer.Watch[T]
	copy   map[string]T

	lists    int
	seen     map[watch.EventType]int
	versions map[string]int // how often an event with that resourceVersion came
}

func newReader[T informer.Object](title string, from informer.ListerWatcher[T]) *reader[T] {
	return &reader[T]{title: title, from: from, seen: map[watch.EventType]int{}, versions: map[string]int{}}
}

// list replaces the copy, page by page.
func (r *reader[T]) list(ctx context.Context, pageSize int64) error {
	fresh, moment := map[string]T{}, ""
	for page, err := range informer.Pages(ctx, r.from, metav1.ListOptions{Limit: pageSize}) {
		if err != nil {
			return err
		}
		for _, object := range page.Items {
			fresh[object.GetName()] = object
		}
		moment = page.ResourceVersion
	}
	r.copy, r.cursor = fresh, r.cursor.Listed(moment)
	r.lists++
	return nil
}

// open starts a watch where the cursor stands.
func (r *reader[T]) open(ctx context.Context, timeoutSeconds *int64) error {
	options := r.cursor.WatchOptions()
	options.TimeoutSeconds = timeoutSeconds
	opened, err := r.from.Watch(ctx, options)
	if err != nil {
		r.cursor = r.cursor.Failed(err)
		return err
	}
	r.watch = opened
	return nil
}

// next reads one event and brings copy and cursor up to date.
func (r *reader[T]) next(ctx context.Context) (informer.Event[T], error) {
	late := context.AfterFunc(ctx, func() { _ = r.watch.Close() })
	defer late()
	event, err := r.watch.Next()
	if err == nil {
		err = event.Err()
	}
	if err != nil {
		r.cursor = r.cursor.Failed(err)
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return event, err
	}
	r.seen[event.Type]++
	var deliver bool
	if r.cursor, deliver = r.cursor.Saw(event.Type, event.ResourceVersion); !deliver {
		return event, nil
	}
	r.versions[event.ResourceVersion]++
	if event.Type == watch.Deleted {
		delete(r.copy, event.Object.GetName())
	} else {
		r.copy[event.Object.GetName()] = event.Object
	}
	return event, nil
}

// readUntil reads up to the event that the demo waits for.
func (r *reader[T]) readUntil(ctx context.Context, done func(informer.Event[T]) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the event did not come within %s", patience))
	defer cancel()
	for {
		event, err := r.next(ctx)
		if err != nil || done(event) {
			return err
		}
	}
}

// read reads a number of changes. It does not count bookmarks.
func (r *reader[T]) read(ctx context.Context, changes int) error {
	return r.readUntil(ctx, func(event informer.Event[T]) bool {
		if event.Type != watch.Bookmark {
			changes--
		}
		return changes == 0
	})
}

// readToEnd reads until the server or an error ends the watch.
func (r *reader[T]) readToEnd(ctx context.Context) error {
	return r.readUntil(ctx, func(informer.Event[T]) bool { return false })
}

// close ends the watch from the reader's side.
func (r *reader[T]) close() error {
	if err := r.watch.Close(); err != nil {
		return err
	}
	if _, err := r.watch.Next(); !errors.Is(err, informer.ErrWatchClosed) {
		return fmt.Errorf("the watch was closed, but: %w", err)
	}
	return nil
}

func (r *reader[T]) names() []string { return slices.Sorted(maps.Keys(r.copy)) }

var heading = []string{"reader", "lists", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "repeated"}

func (r *reader[T]) row() []string {
	repeated := 0
	for _, times := range r.versions {
		repeated += times - 1
	}
	row := []string{r.title, strconv.Itoa(r.lists)}
	for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
		row = append(row, strconv.Itoa(r.seen[event]))
	}
	return append(row, strconv.Itoa(repeated))
}

// account compares the events with what was written since the list: each write
// must have come over the watch, and come once.
func (r *reader[T]) account(w *writer) error {
	deletions := 0
	for _, news := range w.news {
		switch times := r.versions[news.version]; {
		case news.event == watch.Deleted:
			deletions++
		case times != 1:
			return fmt.Errorf("the %s with resourceVersion %s came %d times over the watch", news.event, news.version, times)
		}
	}
	if seen := r.seen[watch.Deleted]; seen != deletions {
		return fmt.Errorf("%d deletions were written, %d came over the watch", deletions, seen)
	}
	return nil
}
