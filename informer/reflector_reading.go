package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// reading is the thin shell around the machine: it does what an action says and
// turns what happened into an input. It decides nothing.
type reading[T Object] struct {
	*Reflector[T]
	ctx   context.Context // Run's; this value lives no longer than Run
	began time.Time

	watch Watch[T] // the open one, or nil
	guard *guard   // cuts the request that is under way

	event Event[T] // the last that was read
	page  *List[T] // the last that came, until it is put aside
	limit int64    // of the list that page belongs to
	aside aside[T]
}

// perform carries an action's command out. The error is for people; the machine
// reads the input.
func (r *reading[T]) perform(act action) (input, error) {
	if act.do != doRead {
		r.close()
	}
	in, err := input{}, error(nil)
	switch act.do {
	case doStream:
		in.kind, err = inOpened, r.open(r.streamOptions(act.version))
	case doWatch:
		in.kind, err = inOpened, r.open(r.watchOptions(act.version))
	case doRead:
		err = r.read(&in)
	case doList:
		err = r.list(&in, r.listOptions(act))
	case doPage:
		err = r.list(&in, metav1.ListOptions{Limit: r.limit, Continue: r.page.Continue})
	case doPause:
		in.kind = inRested
		r.pause(act.pause)
	}
	in.at, in.random = time.Since(r.began), r.options.Random()
	if r.ctx.Err() != nil {
		return input{kind: inStop}, nil
	}
	if err != nil {
		in.kind, in.fault, in.answered = inFailed, faultOf(err), isAnswer(err)
		if seconds, said := apierrors.SuggestsClientDelay(err); said {
			in.asked = time.Duration(seconds) * time.Second
		}
		err = r.about.refusedOr(err, verbOf(act.do))
	}
	return in, err
}

func verbOf(do command) string {
	if do == doList || do == doPage {
		return "list"
	}
	return "watch"
}

// streamOptions ask for a WatchList: all there is as ADDED events, then a
// bookmark that says so, then what changes.
func (r *reading[T]) streamOptions(version string) metav1.ListOptions {
	options := r.watchOptions(version)
	yes := true
	options.SendInitialEvents = &yes
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	return options
}

func (r *reading[T]) watchOptions(version string) metav1.ListOptions {
	options := Cursor{}.Listed(version).WatchOptions()
	least := r.options.WatchTimeout.Seconds()
	seconds := max(1, int64(least+least*r.options.Random()))
	options.TimeoutSeconds = &seconds
	return options
}

func (r *reading[T]) listOptions(act action) metav1.ListOptions {
	r.limit = r.options.PageSize
	if act.whole {
		r.limit = 0
	}
	options := metav1.ListOptions{Limit: r.limit, ResourceVersion: act.version}
	if act.version != "" {
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return options
}

// grace is how much longer than it should a watch may live before we end it
// ourselves: the server, or the network to it, is not there any more.
const grace = 30 * time.Second

func (r *reading[T]) open(options metav1.ListOptions) error {
	r.guard = newGuard(r.ctx, r.options.RequestTimeout)
	opened, err := r.from.Watch(r.guard.ctx, options)
	if err != nil {
		return r.guard.explain(err)
	}
	r.watch = opened
	if options.SendInitialEvents != nil {
		r.guard.expectProgress(r.options.StreamTimeout)
	} else {
		r.guard.expectEnd(time.Duration(*options.TimeoutSeconds)*time.Second + grace)
	}
	return nil
}

// read reads the next event.
func (r *reading[T]) read(in *input) error {
	event, err := r.watch.Next()
	if err == nil {
		err = event.Err()
	}
	switch {
	case errors.Is(err, io.EOF):
		in.kind = inEnded
		return nil
	case err != nil:
		return r.guard.explain(err)
	}
	r.event = event
	in.kind, in.event, in.version = inEvent, event.Type, event.ResourceVersion
	switch event.Type {
	case watch.Added:
		r.guard.progress()
	case watch.Bookmark:
		if in.last = event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"; in.last {
			r.guard.expectEnd(2*r.options.WatchTimeout + grace)
		}
	}
	return nil
}

// list asks for a list or a page.
func (r *reading[T]) list(in *input, options metav1.ListOptions) error {
	r.guard = newGuard(r.ctx, r.options.RequestTimeout)
	page, err := listPage(r.guard.ctx, r.from, options)
	if err != nil {
		return r.guard.explain(err)
	}
	if page.ResourceVersion == "" {
		return fmt.Errorf("the list of %s has no resourceVersion, so there is no place to watch from", r.about)
	}
	r.page = page
	in.kind, in.version, in.last = inPage, page.ResourceVersion, page.Continue == ""
	return nil
}

func (r *reading[T]) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// close ends the request that is under way.
func (r *reading[T]) close() {
	if r.watch != nil {
		_ = r.watch.Close()
		r.watch = nil
	}
	if r.guard != nil {
		r.guard.release()
		r.guard = nil
	}
}

// deliver carries out the other half of an action.
func (r *reading[T]) deliver(act action) {
	switch act.deliver {
	case deliverCollect:
		r.putAside()
	case deliverReplace:
		r.putAside()
		items := r.aside.items
		r.forget()
		r.sink.Replace(items, act.version)
	case deliverApply:
		r.sink.Apply(r.event)
	case deliverProgress:
		r.sink.Progress(act.version)
	case deliverDiscard:
		r.forget()
	}
}

// putAside keeps the last page or event until the view is whole.
func (r *reading[T]) putAside() {
	switch {
	case r.watch == nil:
		r.aside.add(r.page.Items)
		r.page.Items = nil // the token is needed for a while
	case r.event.Type != watch.Bookmark:
		r.aside.apply(r.event)
	}
}

func (r *reading[T]) forget() { r.aside, r.page = aside[T]{}, nil }

// aside is a view that is not whole yet. It holds the objects and nothing else,
// unless one of them changes while the rest is still coming.
type aside[T Object] struct {
	items []T
	place map[Key]int // where in items; made when it is needed
}

// add takes a page's items over.
func (a *aside[T]) add(items []T) {
	if a.items == nil {
		a.items = items
		return
	}
	a.items = append(a.items, items...)
}

// apply takes an event of a stream. A server may tell of changes before the
// initial events have ended.
func (a *aside[T]) apply(event Event[T]) {
	if a.place == nil {
		if event.Type == watch.Added {
			a.items = append(a.items, event.Object)
			return
		}
		a.findPlaces()
	}
	key := KeyOf(event.Object)
	i, there := a.place[key]
	switch {
	case event.Type != watch.Deleted && there:
		a.items[i] = event.Object
	case event.Type != watch.Deleted:
		a.place[key] = len(a.items)
		a.items = append(a.items, event.Object)
	case there:
		last := len(a.items) - 1
		a.items[i] = a.items[last]
		a.place[KeyOf(a.items[i])] = i
		clear(a.items[last:])
		a.items = a.items[:last]
		delete(a.place, key)
	}
}

// findPlaces leaves out the first of two that a server sent for the same object.
func (a *aside[T]) findPlaces() {
	a.place = make(map[Key]int, len(a.items))
	items := a.items[:0]
	for _, item := range a.items {
		key := KeyOf(item)
		if i, there := a.place[key]; there {
			items[i] = item
			continue
		}
		a.place[key] = len(items)
		items = append(items, item)
	}
	clear(a.items[len(items):])
	a.items = items
}
