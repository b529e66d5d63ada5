package fakeapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// A watcher serves one watch. It keeps no queue: it remembers how far it has
// read in the history and reads on when woken. A slow client therefore costs
// nothing, and one that falls out of the window is cut off, as the real server
// cuts it off.
type watcher struct {
	s       *Server
	res     *resource
	options listOptions
	format  format
	faults  watchFaults

	w     http.ResponseWriter
	frame func([]byte) error
	// rv is the last version that has been read.
	rv uint64
	// sent counts the events that went to the client; cut is true when a fault
	// said that they are enough.
	sent     int
	cut      bool
	deadline time.Time
}

// bookmarkLead is how long before a watch ends its last bookmark is sent.
const bookmarkLead = 2 * time.Second

// watch serves a watch until it ends.
func (s *Server) watch(ctx context.Context, w http.ResponseWriter, f format, res *resource, r Request, faults watchFaults) {
	a := answer{w: w, format: f}
	options, err := parseListOptions(res, r, !faults.noWatchList, s.options.ShardedListAndWatch)
	if err != nil {
		a.error(err)
		return
	}
	if faults.ignoreWatchList {
		options.SendInitialEvents = nil
	}
	wt := &watcher{s: s, res: res, options: options, format: f, faults: faults, w: w}
	timeout := s.watchTimeout(options.timeout())
	wt.deadline = time.Now().Add(timeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if faults.cutAfter > 0 {
		var cut context.CancelFunc
		ctx, cut = context.WithTimeoutCause(ctx, faults.cutAfter, errCut)
		defer cut()
	}

	media := f.info.MediaType
	if media != runtime.ContentTypeJSON {
		media += ";stream=watch"
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(http.StatusOK)
	framed := f.info.StreamSerializer.NewFrameWriter(w)
	wt.frame = func(data []byte) error { _, err := framed.Write(data); return err }
	wt.flush()
	wt.run(ctx)
	if faults.cutAbruptly && (wt.cut || context.Cause(ctx) == errCut) {
		hangUp()
	}
}

// errCut is the reason of a watch that a fault cut short.
var errCut = errors.New("cut by a fault")

// watchTimeout is the life of a watch.
func (s *Server) watchTimeout(asked time.Duration) time.Duration {
	switch {
	case asked > 0:
		return asked
	case s.options.WatchTimeout > 0:
		return s.options.WatchTimeout
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	const least = 30 * time.Minute
	return least + time.Duration(s.random.Int64N(int64(least)))
}

func (wt *watcher) flush() {
	if f, ok := wt.w.(http.Flusher); ok {
		f.Flush()
	}
}

// run sends the beginning and then follows the history.
func (wt *watcher) run(ctx context.Context) {
	if wt.options.SendInitialEvents != nil && *wt.options.SendInitialEvents {
		// By now the response has begun, so errors are events.
		if err := wt.s.waitForVersion(ctx, wt.options.rv); err != nil {
			wt.fail(err)
			return
		}
	}
	wt.s.mu.Lock()
	restored := wt.s.restored
	t := wt.s.store.table(wt.res.storage())
	begin, err := planStart(wt.s.store, t, wt.options, wt.s.store.rv)
	wt.s.mu.Unlock()
	if err != nil {
		wt.fail(err)
		return
	}
	wt.rv = begin.rv
	if !wt.sendAll(ctx, begin.events) {
		return
	}
	wt.follow(ctx, t, restored)
}

func (wt *watcher) follow(ctx context.Context, t *table, restored <-chan struct{}) {
	bookmarks := time.NewTimer(wt.untilBookmark())
	defer bookmarks.Stop()
	bookmarkDue := false
	for {
		wt.s.mu.Lock()
		changes, ok := t.since(wt.rv)
		now, served := wt.s.store.rv, wt.s.resources[wt.res.gvr()] == wt.res
		changed := wt.s.changedLocked(wt.res.storage())
		wt.s.mu.Unlock()
		if !ok {
			return // too slow: the next watch gets an Expired error
		}
		var events []event
		for _, c := range changes {
			if e, ok := seen(c, wt.options.selection); ok {
				events = append(events, e)
			}
		}
		wt.rv = max(wt.rv, now)
		if bookmarkDue && wt.rv == now {
			// After the events, so that it speaks for them too. A watch of the
			// future has nothing to confirm yet.
			events = append(events, event{kind: watch.Bookmark})
		}
		bookmarkDue = false
		if !wt.sendAll(ctx, events) || !served {
			return
		}
		select {
		case <-changed:
		case <-bookmarks.C:
			bookmarkDue = wt.options.AllowWatchBookmarks
			bookmarks.Reset(wt.untilBookmark())
		case <-ctx.Done():
			return
		case <-restored:
			return // it follows a table that is no more
		case <-wt.s.done:
			return
		}
	}
}

// untilBookmark is the time to the next bookmark: one interval, or shortly
// before the end, so that the next watch can go on from there.
func (wt *watcher) untilBookmark() time.Duration {
	last := time.Until(wt.deadline) - bookmarkLead
	if last <= 0 || wt.s.options.BookmarkInterval < last {
		return wt.s.options.BookmarkInterval
	}
	return last
}

// sendAll sends events in order, with the faults that were asked for. It
// returns false when the watch is over.
func (wt *watcher) sendAll(ctx context.Context, events []event) bool {
	for _, e := range events {
		if wt.faults.suppresses(e) {
			continue
		}
		if wt.faults.delay > 0 && !sleep(ctx, wt.s.done, wt.faults.delay) {
			return false
		}
		data, err := wt.encode(e)
		if err != nil {
			wt.fail(err)
			return false
		}
		if wt.frame(data) != nil {
			return false
		}
		wt.sent++
		last := wt.faults.cutAfterEvents > 0 && wt.sent >= wt.faults.cutAfterEvents
		if last || wt.faults.delay > 0 {
			wt.flush()
		}
		if last {
			wt.cut = true
			return false
		}
	}
	if len(events) > 0 {
		wt.flush()
	}
	return ctx.Err() == nil
}

// fail sends an error as the last event.
func (wt *watcher) fail(err error) {
	data, encodeErr := wt.encode(event{kind: watch.Error, status: statusOf(err)})
	if encodeErr == nil && wt.frame(data) == nil {
		wt.flush()
	}
}

// encode returns the frame of an event. Events of stored versions are encoded
// once for all watchers that speak the same format.
func (wt *watcher) encode(e event) ([]byte, error) {
	switch e.kind {
	case watch.Error:
		return wt.encodeFrame(e.kind, e.status)
	case watch.Bookmark:
		return wt.encodeFrame(e.kind, wt.format.object(bookmark(wt.res, wt.rv, e.ends)))
	}
	form := wt.format.form() + " " + string(e.kind)
	return e.of.encoded.get(form, func() ([]byte, error) {
		return wt.encodeFrame(e.kind, wt.format.object(e.of.obj))
	})
}

func (wt *watcher) encodeFrame(kind watch.EventType, obj runtime.Object) ([]byte, error) {
	data, err := wt.format.encode(obj)
	if err != nil {
		return nil, err
	}
	frame := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: data}}
	var buf bytes.Buffer
	if err := wt.format.info.StreamSerializer.Encode(frame, &buf); err != nil {
		return nil, fmt.Errorf("encode a %s event: %w", kind, err)
	}
	return buf.Bytes(), nil
}

// sleep waits for d; false means that there is no point in going on.
func sleep(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-done:
		return false
	}
}
