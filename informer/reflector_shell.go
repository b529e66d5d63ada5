package informer

import (
	"context"
	"errors"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Sink is where a reflector delivers what it learns. Calls come from one goroutine, one after
// another, in the order of the history.
//
// Guarantees: the first call is Replace. The versions of the calls never go back, with one
// exception: a server that was restored from a backup has itself gone back, and then a Replace says
// so. What the reflector hands over belongs to the sink; it keeps neither the slice nor the
// objects.
//
// Caveats: the reflector waits for every call. A slow sink slows the watch down, and a server ends
// a watch that isn't read. A Replace may have the version of the one before and still different
// objects: after a backup was restored, or after the server's conversion of the kind has changed.
// The list is the truth.
//
// The library's implementation is informerSink.
type Sink[T Object] interface {
	// Replace has all objects at one moment. Objects that the sink had and that aren't among the
	// items were deleted. If the server has no versions, the version is empty; then the collection
	// is polled, and there are no other calls.
	Replace(items []T, resourceVersion string)
	// Apply has one change: ADDED, MODIFIED or DELETED.
	Apply(event Event[T])
	// Progress is a bookmark: nothing else happened up to this version.
	Progress(resourceVersion string)
}

// shell is the thin shell around the machine: it does what an action says and turns the result into
// an input. It decides nothing.
type shell[T Object] struct {
	*Reflector[T]
	ctx   context.Context // Run's; this value lives no longer than Run
	began time.Time
	// until ends with ctx, or when a new view is wanted. Requests and pauses end with it.
	until context.Context

	current Watch[T]       // the open watch, or nil
	stall   *stallDetector // cuts the running request

	lastEvent Event[T]
	lastPage  *List[T] // nil once its view is handed over or discarded
	partial   partialView[T]
}

// begin makes the context of what follows, until a new view is wanted.
func (s *shell[T]) begin() {
	until, cut := context.WithCancelCause(s.ctx)
	s.until = until
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
}

// interrupted returns the input that takes the place of an answer, if nobody wants that any more.
func (s *shell[T]) interrupted() (in input, is bool) {
	switch {
	case s.ctx.Err() != nil:
		return input{kind: inStop}, true
	case s.until.Err() != nil:
		s.begin()
		if s.renewed != nil {
			s.renewed()
		}
		return input{kind: inRenewed}, true
	}
	return input{}, false
}

// perform carries out an action's command. The error is for people; the machine reads the input.
func (s *shell[T]) perform(act action) (input, error) {
	if act.do != doRead {
		s.close()
	}
	if in, is := s.interrupted(); is {
		return in, nil
	}
	in, err := input{}, error(nil)
	switch act.do {
	case doStream:
		in.kind, err = inOpened, s.openWatch(s.streamOptions(act.version))
	case doWatch:
		in.kind, err = inOpened, s.openWatch(s.watchOptions(act.version))
	case doRead:
		err = s.readEvent(&in)
	case doList:
		err = s.requestPage(&in, s.listOptions(act))
	case doPage:
		err = s.requestPage(&in, metav1.ListOptions{
			Limit: s.options.PageSize, Continue: s.lastPage.Continue,
		})
	case doPause:
		in.kind = inPaused
		s.sleep(act.pause)
	}
	in.at, in.random = time.Since(s.began), s.options.Random()
	if in, is := s.interrupted(); is {
		return in, nil
	}
	if err != nil {
		if in.kind, in.fault = inFailed, faultOf(err); in.fault == faultNone {
			return in, nil
		}
		if seconds, said := apierrors.SuggestsClientDelay(err); said {
			in.asked = time.Duration(seconds) * time.Second
		}
		err = s.identity.refusedOr(err, verbOf(act.do))
	}
	return in, err
}

func verbOf(do command) string {
	if do == doList || do == doPage {
		return "list"
	}
	return "watch"
}

// streamOptions request a WatchList: all existing objects as ADDED events, then a bookmark that
// says so, then the changes.
func (s *shell[T]) streamOptions(version string) metav1.ListOptions {
	options := s.watchOptions(version)
	yes := true
	options.SendInitialEvents = &yes
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	return options
}

func (s *shell[T]) watchOptions(version string) metav1.ListOptions {
	options := Cursor{}.Listed(version).WatchOptions()
	least := s.options.WatchTimeout.Seconds()
	seconds := int64(least + least*s.options.Random())
	options.TimeoutSeconds = &seconds
	return options
}

func (s *shell[T]) listOptions(act action) metav1.ListOptions {
	options := metav1.ListOptions{Limit: s.options.PageSize, ResourceVersion: act.version}
	if act.whole {
		options.Limit = 0
	}
	if act.version != "" {
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return options
}

// grace is how much longer than it should a watch may live until we end it ourselves: the server,
// or the network to it, is no longer there.
const grace = 30 * time.Second

func (s *shell[T]) openWatch(options metav1.ListOptions) error {
	s.stall = newStallDetector(s.until, s.options.RequestTimeout)
	opened, err := s.from.Watch(s.stall.ctx, options)
	if err != nil {
		return s.stall.explain(err)
	}
	s.current = opened
	if options.SendInitialEvents != nil {
		s.stall.expectProgress(s.options.StreamTimeout)
	} else {
		s.stall.expectEnd(time.Duration(*options.TimeoutSeconds)*time.Second + grace)
	}
	return nil
}

// readEvent waits for the next event.
func (s *shell[T]) readEvent(in *input) error {
	event, err := s.current.Next()
	if err == nil {
		err = event.Err()
	}
	switch {
	case errors.Is(err, io.EOF):
		in.kind = inEnded
		return nil
	case err != nil:
		return s.stall.explain(err)
	}
	s.lastEvent = event
	in.kind, in.event, in.version = inEvent, event.Type, event.ResourceVersion
	switch event.Type {
	case watch.Added:
		s.stall.step()
	case watch.Bookmark:
		if in.last = event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"; in.last {
			s.stall.expectEnd(2*s.options.WatchTimeout + grace)
		}
	}
	return nil
}

// requestPage requests a list or a page of it.
func (s *shell[T]) requestPage(in *input, options metav1.ListOptions) error {
	s.stall = newStallDetector(s.until, s.options.RequestTimeout)
	page, err := listPage(s.stall.ctx, s.from, options)
	if err != nil {
		return s.stall.explain(err)
	}
	s.lastPage = page
	in.kind, in.version, in.last = inPage, page.ResourceVersion, page.Continue == ""
	return nil
}

func (s *shell[T]) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.until.Done():
	}
}

// close ends the running request.
func (s *shell[T]) close() {
	if s.current != nil {
		_ = s.current.Close()
		s.current = nil
	}
	if s.stall != nil {
		s.stall.release()
		s.stall = nil
	}
}

// deliver carries out the other half of an action.
func (s *shell[T]) deliver(act action) {
	switch act.deliver {
	case deliverCollect:
		s.collect()
	case deliverReplace:
		s.collect()
		items := s.partial.items
		s.discard()
		s.sink.Replace(items, act.version)
	case deliverApply:
		s.sink.Apply(s.lastEvent)
	case deliverProgress:
		s.sink.Progress(act.version)
	case deliverDiscard:
		s.discard()
	}
}

// collect keeps the last page or event until the view is whole.
func (s *shell[T]) collect() {
	switch {
	case s.current == nil:
		s.partial.add(s.lastPage.Items)
		s.lastPage.Items = nil // the token is needed for a while
	case s.lastEvent.Type != watch.Bookmark:
		s.partial.apply(s.lastEvent)
	}
}

func (s *shell[T]) discard() { s.partial, s.lastPage = partialView[T]{}, nil }

// partialView is a view that isn't whole yet. It holds only the objects, unless one of them changes
// while the rest is still arriving.
type partialView[T Object] struct {
	items   []T
	indexOf map[Key]int // where in items; made when it's needed
}

// add adds the items of a page.
func (v *partialView[T]) add(items []T) {
	if v.items == nil {
		v.items = items
		return
	}
	v.items = append(v.items, items...)
}

// apply applies an event of a stream. A server may report changes before the initial events have
// ended.
func (v *partialView[T]) apply(event Event[T]) {
	if v.indexOf == nil {
		if event.Type == watch.Added {
			v.items = append(v.items, event.Object)
			return
		}
		v.buildIndex()
	}
	key := KeyOf(event.Object)
	i, there := v.indexOf[key]
	switch {
	case event.Type != watch.Deleted && there:
		v.items[i] = event.Object
	case event.Type != watch.Deleted:
		v.indexOf[key] = len(v.items)
		v.items = append(v.items, event.Object)
	case there:
		last := len(v.items) - 1
		v.items[i] = v.items[last]
		v.indexOf[KeyOf(v.items[i])] = i
		clear(v.items[last:])
		v.items = v.items[:last]
		delete(v.indexOf, key)
	}
}

// lastOfEachKey drops the first of two items that have the same key.
func lastOfEachKey[T Object](items []T) []T {
	view := partialView[T]{items: items}
	view.buildIndex()
	return view.items
}

// buildIndex drops the first of two items that a server sent for the same object.
func (v *partialView[T]) buildIndex() {
	v.indexOf = make(map[Key]int, len(v.items))
	items := v.items[:0]
	for _, item := range v.items {
		key := KeyOf(item)
		if i, there := v.indexOf[key]; there {
			items[i] = item
			continue
		}
		v.indexOf[key] = len(items)
		items = append(items, item)
	}
	clear(v.items[len(items):])
	v.items = items
}
