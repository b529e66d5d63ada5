package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
)

// sources are those of one controller. Before its start they are kept; then they run; and after
// its stop there are none.
type sources struct {
	mu      sync.Mutex // guards all below, and the fields stop of watched
	watched []*watchedSource
	// newContext makes the context of a source while the controller runs; nil before. It is a
	// function so that the context of Start, or of Warmup, is stored nowhere.
	newContext func() (context.Context, context.CancelCauseFunc)
	queue      sourceQueue // of the controller while it runs
	stopped    bool
	ending     []*watchedSource // cancelled, and to be waited for
}

// watchedSource is a source for as long as it is watched.
type watchedSource struct {
	source Source
	stop   context.CancelCauseFunc // nil before the source is started
	// settled is closed when Start and WaitForSync have returned, or nobody waits for them any
	// more. It is closed by the one who called them; wait receives.
	settled chan struct{}
	// started is set before settled is closed: Start has returned nil, so there is something to
	// wait for.
	started bool
}

var (
	errStopped   = errors.New("the controller has stopped")
	errUnwatched = errors.New("the controller no longer watches this source")
)

// add returns true if the source has to be started now.
func (s *sources) add(w *watchedSource) (running bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false, errStopped
	}
	s.watched = append(s.watched, w)
	return s.newContext != nil, nil
}

// open returns the sources that were kept. From now on add says that they are to be started.
func (s *sources) open(queue sourceQueue, newContext func() (context.Context, context.CancelCauseFunc)) []*watchedSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.queue, s.newContext = queue, newContext
	return slices.Clone(s.watched)
}

// begin makes the context with which a source is started. It returns false if the source was
// removed before that. The caller must close settled if it returns true.
func (s *sources) begin(w *watchedSource) (ctx context.Context, queue sourceQueue, watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.watched, w) {
		return nil, sourceQueue{}, false
	}
	ctx, w.stop = s.newContext()
	return ctx, s.queue, true
}

// remove ends a source. It returns false if it is not watched.
func (s *sources) remove(is func(*watchedSource) bool, cause error) (*watchedSource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.watched, is)
	if i < 0 {
		return nil, false
	}
	w := s.watched[i]
	s.watched = slices.Delete(s.watched, i, i+1)
	if w.stop == nil { // begin will not find it
		return w, true
	}
	w.stop(cause)
	return w, true
}

// stop ends all sources, and waits for them. There may be none after that. A second call has
// nothing left to do.
func (s *sources) stop(cause error) {
	s.cancel(cause)
	s.mu.Lock()
	ending := s.ending
	s.ending = nil
	s.mu.Unlock()
	for _, w := range ending {
		w.wait()
	}
}

// cancel is the first half of stop.
func (s *sources) cancel(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watched {
		if w.stop != nil {
			w.stop(cause)
			s.ending = append(s.ending, w)
		}
	}
	s.watched, s.stopped = nil, true
}

// wait returns when a source has stopped that was started.
func (w *watchedSource) wait() {
	<-w.settled
	if stopping, ok := w.source.(StoppingSource); ok && w.started {
		stopping.WaitForStop()
	}
}

// Unwatch implements Controller.
func (c *controlLoop) Unwatch(src Source) error {
	if !reflect.ValueOf(src).Comparable() {
		return fmt.Errorf("controller %s: the source %s cannot be told from others, because its type is not comparable: watch a pointer", c.name, nameOf(src))
	}
	w, watched := c.sources.remove(func(w *watchedSource) bool {
		return reflect.ValueOf(w.source).Comparable() && w.source == src
	}, errUnwatched)
	switch {
	case !watched:
		return fmt.Errorf("controller %s does not watch the source %s", c.name, nameOf(src))
	case w.stop != nil: // it does not change once the source is removed
		w.wait()
	}
	return nil
}
