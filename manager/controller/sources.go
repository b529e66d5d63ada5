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
	"github.com/loopwright/loopwright/workqueue"
)

// TypedSource adds requests to a controller's queue.
type TypedSource[request comparable] interface {
	// Start starts the source, and returns at once. The source ends when the context does. The
	// queue also implements reconcile.Waker and priorityqueue.PriorityQueue, and has the methods
	// GetLogger() logr.Logger and FlightRecorder() (recorder *trace.Recorder, layer string).
	Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error
}

// TypedSyncingSource is a TypedSource that isn't ready right after its start, because it has to
// list first. The controller's workers wait for it.
type TypedSyncingSource[request comparable] interface {
	TypedSource[request]
	// WaitForSync returns nil when the source is ready, and an error when it never will be or the
	// context has ended. It's called after Start. The error is shown to somebody who wonders why
	// the controller doesn't start, so it should say what the source waits for.
	WaitForSync(ctx context.Context) error
}

// StoppingSource is a source with goroutines of its own.
type StoppingSource interface {
	// WaitForStop returns when all goroutines that Start began have ended. It's called after the
	// context of Start has ended, unless Start returned an error.
	WaitForStop()
}

// sources are the sources of one controller. They're kept until its start, run until its stop, and
// then dropped.
type sources[request comparable] struct {
	mu      sync.Mutex // guards all below, and the fields stop of watched
	watched []*watchedSource[request]
	// newContext makes the context of a source while the controller runs; nil before. It's a
	// function so that the context of Start, or of Warmup, isn't stored anywhere.
	newContext func() (context.Context, context.CancelCauseFunc)
	queue      *controllerQueue[request] // of the controller while it runs
	stopped    bool
	ending     []*watchedSource[request] // told to end, and not ended yet
}

// watchedSource is a source while it's watched.
type watchedSource[request comparable] struct {
	source TypedSource[request]
	stop   context.CancelCauseFunc // nil before the source is started
	// settled is closed when Start and WaitForSync have returned, or when nobody waits for them
	// any more. Their caller closes it; the goroutine of endLocked receives.
	settled chan struct{}
	// started says that Start has returned nil, so that there's something to wait for.
	started atomic.Bool
	// ended is closed by the goroutine of endLocked when the source has stopped.
	ended chan struct{}
}

func newWatched[request comparable](src TypedSource[request]) *watchedSource[request] {
	return &watchedSource[request]{source: src, settled: make(chan struct{}), ended: make(chan struct{})}
}

var (
	errStopped   = errors.New("the controller has stopped")
	errUnwatched = errors.New("the controller no longer watches this source")
)

// add returns true if the source has to be started now.
func (s *sources[request]) add(w *watchedSource[request]) (running bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false, errStopped
	}
	s.watched = append(s.watched, w)
	return s.newContext != nil, nil
}

// open returns the sources that were kept. From now on, add says that a source has to be started.
func (s *sources[request]) open(ctx context.Context, queue *controllerQueue[request]) []*watchedSource[request] {
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
func (s *sources[request]) beginFrom(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginFromLocked(ctx)
}

func (s *sources[request]) beginFromLocked(ctx context.Context) {
	s.newContext = func() (context.Context, context.CancelCauseFunc) {
		return context.WithCancelCause(ctx)
	}
}

// running returns the sources that are watched.
func (s *sources[request]) running() []*watchedSource[request] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.watched)
}

func (s *sources[request]) has(w *watchedSource[request]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.watched, w)
}

// begin makes the context for starting a source. It returns false if the source was already
// removed. The caller must close settled if it returns true.
func (s *sources[request]) begin(
	w *watchedSource[request],
) (ctx context.Context, queue *controllerQueue[request], watched bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.watched, w) {
		return nil, nil, false
	}
	ctx, w.stop = s.newContext()
	return ctx, s.queue, true
}

// remove ends a source. It returns false if it isn't watched.
func (s *sources[request]) remove(is func(*watchedSource[request]) bool, cause error) (*watchedSource[request], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.watched, is)
	if i < 0 {
		return nil, false
	}
	w := s.watched[i]
	s.watched = slices.Delete(s.watched, i, i+1)
	if w.stop == nil { // begin won't find it
		return w, true
	}
	s.endLocked(w, cause)
	return w, true
}

// stop ends all sources. It waits for them, and for those that somebody else has ended. No more can
// be added after that. It returns the sources that are still running when ctx ends.
func (s *sources[request]) stop(ctx context.Context, cause error) (left []*watchedSource[request]) {
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
	return slices.DeleteFunc(left, (*watchedSource[request]).hasEnded)
}

// cancel is the first half of stop.
func (s *sources[request]) cancel(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watched {
		if w.stop != nil {
			s.endLocked(w, cause)
		}
	}
	s.watched, s.stopped = nil, true
}

// endLocked ends a source that was started and is no longer in watched. It's called once for each;
// callers that want to wait receive from ended.
func (s *sources[request]) endLocked(w *watchedSource[request], cause error) {
	w.stop(cause)
	s.ending = append(s.ending, w)
	go func() {
		<-w.settled
		if stopping, ok := any(w.source).(StoppingSource); ok && w.started.Load() {
			stopping.WaitForStop()
		}
		s.mu.Lock()
		s.ending = slices.DeleteFunc(s.ending, func(other *watchedSource[request]) bool {
			return other == w
		})
		s.mu.Unlock()
		close(w.ended)
	}()
}

func (w *watchedSource[request]) hasEnded() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

var errNotStopped = errors.New("the source has not stopped in time")

// endSources stops the sources for good. One that doesn't end is left behind.
func (c *controlLoop[request]) endSources(cause error) {
	patient, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, w := range c.sources.stop(patient, cause) {
		c.leaveBehind(w, errNotStopped)
	}
}

// Unwatch is what the function Unwatch calls.
func (c *controlLoop[request]) Unwatch(src TypedSource[request]) error {
	if !reflect.ValueOf(src).Comparable() {
		return fmt.Errorf("controller %s: the source %s cannot be told from others, because its "+
			"type is not comparable: watch a pointer", c.name, anyvalue.Name(src, ""))
	}
	w, watched := c.sources.remove(func(w *watchedSource[request]) bool {
		return w.source == src
	}, errUnwatched)
	switch {
	case !watched:
		return fmt.Errorf("controller %s does not watch the source %s", c.name,
			anyvalue.Name(src, ""))
	case w.stop != nil: // it doesn't change once the source is removed
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
