package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// Source adds requests to a controller's queue.
type Source interface {
	// Start begins, and returns at once. The source ends when the context does. The queue that it
	// is given is a reconcile.Waker and a priorityqueue.PriorityQueue as well, and has the methods
	// GetLogger() logr.Logger and FlightRecorder() (recorder *trace.Recorder, layer string).
	Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error
}

// SyncingSource is a Source that is not ready when it has started: it has to list first. The
// controller's workers wait for it.
type SyncingSource interface {
	Source
	// WaitForSync returns nil when the source is ready, and an error when it never will be or the
	// context has ended. It is called after Start. The error is shown to somebody who wonders why
	// the controller does not start, so it should say what the source waits for.
	WaitForSync(ctx context.Context) error
}

// StoppingSource is a Source that has goroutines of its own.
type StoppingSource interface {
	Source
	// WaitForStop returns when all goroutines that Start began have ended. It is called when the
	// context of Start has ended, unless Start returned an error.
	WaitForStop()
}

// sources are those of one controller. Before its start they are kept; then they run; and after
// its stop there are none.
type sources struct {
	mu      sync.Mutex // guards all below, and the fields stop of watched
	watched []*watchedSource
	// newContext makes the context of a source while the controller runs; nil before. It is a
	// function so that the context of Start, or of Warmup, is stored nowhere.
	newContext func() (context.Context, context.CancelCauseFunc)
	queue      *controllerQueue // of the controller while it runs
	stopped    bool
	ending     []*watchedSource // told to end, and not ended yet
}

// watchedSource is a source for as long as it is watched.
type watchedSource struct {
	source Source
	stop   context.CancelCauseFunc // nil before the source is started
	// settled is closed when Start and WaitForSync have returned, or nobody waits for them any
	// more. It is closed by the one who called them; the goroutine of endLocked receives.
	settled chan struct{}
	// started says that Start has returned nil, so that there is something to wait for.
	started atomic.Bool
	// ended is closed by the goroutine of endLocked when the source has stopped.
	ended chan struct{}
}

func newWatched(src Source) *watchedSource {
	return &watchedSource{source: src, settled: make(chan struct{}), ended: make(chan struct{})}
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
func (s *sources) open(ctx context.Context, queue *controllerQueue) []*watchedSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.queue = queue
	s.beginFromLocked(ctx)
	return slices.Clone(s.watched)
}

// beginFrom makes ctx the parent of the contexts of sources that are started from now on.
func (s *sources) beginFrom(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginFromLocked(ctx)
}

func (s *sources) beginFromLocked(ctx context.Context) {
	s.newContext = func() (context.Context, context.CancelCauseFunc) {
		return context.WithCancelCause(ctx)
	}
}

// begin makes the context with which a source is started. It returns false if the source was
// removed before that. The caller must close settled if it returns true.
func (s *sources) begin(
	w *watchedSource,
) (ctx context.Context, queue *controllerQueue, watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.watched, w) {
		return nil, nil, false
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
	s.endLocked(w, cause)
	return w, true
}

// stop ends all sources, and waits for them, and for those that somebody else has ended. There
// may be none after that. It returns those that go on when ctx ends.
func (s *sources) stop(ctx context.Context, cause error) (left []*watchedSource) {
	s.cancel(cause)
	s.mu.Lock()
	ending := slices.Clone(s.ending)
	s.mu.Unlock()
	for _, w := range ending {
		select {
		case <-w.ended:
		case <-ctx.Done():
			left = append(left, w)
		}
	}
	return slices.DeleteFunc(left, (*watchedSource).hasEnded)
}

// cancel is the first half of stop.
func (s *sources) cancel(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watched {
		if w.stop != nil {
			s.endLocked(w, cause)
		}
	}
	s.watched, s.stopped = nil, true
}

// endLocked ends a source that was started and is no longer in watched. It is called once for
// each; whoever wants to wait receives from ended.
func (s *sources) endLocked(w *watchedSource, cause error) {
	w.stop(cause)
	s.ending = append(s.ending, w)
	go func() {
		<-w.settled
		if stopping, ok := w.source.(StoppingSource); ok && w.started.Load() {
			stopping.WaitForStop()
		}
		s.mu.Lock()
		s.ending = slices.DeleteFunc(s.ending, func(other *watchedSource) bool {
			return other == w
		})
		s.mu.Unlock()
		close(w.ended)
	}()
}

func (w *watchedSource) hasEnded() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

var errNotStopped = errors.New("the source has not stopped in time")

// endSources stops the sources for good. One that does not end is left behind.
func (c *controlLoop) endSources(cause error) {
	patient, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, w := range c.sources.stop(patient, cause) {
		c.leaveBehind(w, errNotStopped)
	}
}

// Unwatch implements Controller.
func (c *controlLoop) Unwatch(src Source) error {
	if !reflect.ValueOf(src).Comparable() {
		return fmt.Errorf("controller %s: the source %s cannot be told from others, because its "+
			"type is not comparable: watch a pointer", c.name, anyvalue.Name(src, ""))
	}
	w, watched := c.sources.remove(func(w *watchedSource) bool {
		return w.source == src
	}, errUnwatched)
	switch {
	case !watched:
		return fmt.Errorf("controller %s does not watch the source %s", c.name,
			anyvalue.Name(src, ""))
	case w.stop != nil: // it does not change once the source is removed
		patient := time.NewTimer(patience)
		defer patient.Stop()
		select {
		case <-w.ended:
		case <-patient.C:
			return fmt.Errorf("controller %s: the source %s: %w", c.name, anyvalue.Name(src, ""),
				errNotStopped)
		}
	}
	return nil
}
