package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// ChannelOpt is an option of Channel.
type ChannelOpt[object any, request comparable] func(*channelSource[object, request])

// WithPredicates adds predicates to a Channel.
func WithPredicates[object any, request comparable](
	p ...predicate.TypedPredicate[object],
) ChannelOpt[object, request] {
	return func(s *channelSource[object, request]) { s.predicates = append(s.predicates, p...) }
}

// WithBufferSize sets how many events may wait for each controller; the default is 1024.
func WithBufferSize[object any, request comparable](bufferSize int) ChannelOpt[object, request] {
	return func(s *channelSource[object, request]) { s.bufferSize = bufferSize }
}

// Channel is a TypedChannel for requests that are the names of objects.
func Channel[object any](
	source <-chan event.TypedGenericEvent[object],
	handler handler.TypedEventHandler[object, reconcile.Request],
	opts ...ChannelOpt[object, reconcile.Request],
) Source {
	return TypedChannel(source, handler, opts...)
}

// TypedChannel turns the values of a Go channel into events: from webhooks of other systems, from
// timers, or from polling something outside the cluster.
//
// Guarantees: every controller that watches the source gets each event that is received while it
// watches, in order. Nothing is received while no controller watches: until then, events stay in
// the channel, or their senders wait. When the channel is closed, the source ends after the last
// event.
//
// Caveats: if the buffer of one controller is full, because its handler is slow, the other
// controllers wait, and so do the senders. When a source is stopped, the events in its buffer are
// dropped, and maybe one that is on its way there; those in the channel stay. There's no list that
// would bring them back.
func TypedChannel[object any, request comparable](
	source <-chan event.TypedGenericEvent[object],
	handler handler.TypedEventHandler[object, request], opts ...ChannelOpt[object, request],
) TypedSource[request] {
	s := &channelSource[object, request]{from: source, handler: handler, bufferSize: 1024}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// channelSource has one goroutine that receives, and another for each controller, so that a slow
// handler blocks only when its buffer is full.
type channelSource[object any, request comparable] struct {
	from       <-chan event.TypedGenericEvent[object]
	handler    handler.TypedEventHandler[object, request]
	predicates []predicate.TypedPredicate[object]
	bufferSize int
	runs       runs

	mu sync.Mutex // guards the rest
	// replaced, never changed, so you can iterate over it without the lock
	listeners []*channelListener[object]
	receiving *receiving // nil if no goroutine receives; so there's never more than one
}

// channelListener is a controller that watches the source.
type channelListener[object any] struct {
	events chan event.TypedGenericEvent[object] // sent to and closed by receive; bufferSize
	gone   <-chan struct{}                      // closed when the listener's context ends
}

// receiving is the goroutine that receives.
type receiving struct {
	// the last listener sends, receive receives; unbuffered, so the sender knows that receive looks
	nobody chan struct{}
	ended  chan struct{} // closed by receive
}

// Start implements Source.
func (s *channelSource[object, request]) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error {
	switch {
	case s.from == nil:
		return errors.New("the source has no channel")
	case anyvalue.IsNil(s.handler):
		return errors.New("the source has no handler")
	case slices.Contains(s.predicates, nil):
		return errNilPredicate
	case s.bufferSize < 0:
		return fmt.Errorf("the buffer of the source cannot have the size %d", s.bufferSize)
	}
	pipeline := newPipeline(queue, s.handler, s.predicates)
	l := &channelListener[object]{
		events: make(chan event.TypedGenericEvent[object], s.bufferSize), gone: ctx.Done(),
	}
	r := s.runs.begin(ctx)
	s.add(l)
	go func() {
		defer s.runs.end(r)
		defer s.remove(l)
		l.deliver(ctx, pipeline.generic)
	}()
	return nil
}

func (l *channelListener[object]) deliver(
	ctx context.Context, to func(context.Context, event.TypedGenericEvent[object]),
) {
	for {
		select {
		case e, open := <-l.events:
			if !open || ctx.Err() != nil {
				return
			}
			to(ctx, e)
		case <-ctx.Done():
			return
		}
	}
}

func (s *channelSource[object, request]) add(l *channelListener[object]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), l)
	if s.receiving == nil {
		s.receiving = &receiving{nobody: make(chan struct{}), ended: make(chan struct{})}
		go s.receive(s.receiving)
	}
}

// remove also ends the receiving goroutine if this was the last listener.
func (s *channelSource[object, request]) remove(l *channelListener[object]) {
	s.mu.Lock()
	s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(other *channelListener[object]) bool {
		return other == l
	})
	last, receiving := len(s.listeners) == 0, s.receiving
	s.mu.Unlock()
	if !last || receiving == nil {
		return
	}
	select { // nothing holds it up for long: a send to a listener that is gone is given up
	case receiving.nobody <- struct{}{}:
	case <-receiving.ended:
	}
}

// receive ends when no controller watches. A listener whose context has ended no longer counts,
// even while its handler still runs: otherwise the channel would be empty by the time it returns.
func (s *channelSource[object, request]) receive(r *receiving) {
	defer close(r.ended)
	for s.isWatched() {
		select {
		case e, open := <-s.from:
			if !open {
				s.close()
				return
			}
			s.distribute(e)
		case <-r.nobody:
		}
	}
}

// isWatched drops listeners that have ended. If it returns false, the next listener starts another
// goroutine.
func (s *channelSource[object, request]) isWatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isGone := func(l *channelListener[object]) bool { return isClosed(l.gone) }
	if slices.ContainsFunc(s.listeners, isGone) {
		s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), isGone)
	}
	if len(s.listeners) == 0 {
		s.receiving = nil
	}
	return s.receiving != nil
}

func (s *channelSource[object, request]) distribute(e event.TypedGenericEvent[object]) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		select {
		case l.events <- e:
		case <-l.gone:
		}
	}
}

// close is called when no more events will come.
func (s *channelSource[object, request]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		close(l.events)
	}
	s.listeners, s.receiving = nil, nil
}

// WaitForStop implements controller.StoppingSource.
func (s *channelSource[object, request]) WaitForStop() { s.runs.WaitForStop() }

// String is the source's name in messages.
func (s *channelSource[object, request]) String() string { return fmt.Sprintf("channel source: %p", s) }
