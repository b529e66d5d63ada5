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

// ChannelOpt is an option of Channel. Its type parameters are there so that options with
// controller-runtime's explicit ones compile.
type ChannelOpt[object any, request comparable] func(*channelSource)

// WithPredicates adds predicates to a Channel.
func WithPredicates[object any, request comparable](
	p ...predicate.Predicate,
) ChannelOpt[object, request] {
	return func(s *channelSource) { s.predicates = append(s.predicates, p...) }
}

// WithBufferSize says how many events may wait for each controller; 1024 without it.
func WithBufferSize[object any, request comparable](bufferSize int) ChannelOpt[object, request] {
	return func(s *channelSource) { s.bufferSize = bufferSize }
}

// Channel makes events of what comes out of a Go channel: webhooks of others, timers, a poll of
// something outside the cluster.
//
// Guarantees: every controller that watches the source gets each event that is received while it
// does, in order. Nothing is received while nobody watches: before that, events stay in the
// channel, or their senders wait. When the channel is closed, the source ends after the last event.
//
// Caveats: if the buffer of one controller is full, because its handler is slow, the others wait,
// and so do the senders. When a source is stopped, the events in its buffer are dropped, and so may
// be one that is on the way there; what is in the channel stays. There is no list from which they
// come again.
func Channel[object any, generic genericOf[object]](source <-chan generic,
	handler handler.EventHandler, opts ...ChannelOpt[object, reconcile.Request]) Source {
	// the compiler does not see that generic must be GenericEvent
	from, _ := any(source).(<-chan event.GenericEvent)
	s := &channelSource{from: from, handler: handler, bufferSize: 1024}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// genericOf is GenericEvent, with a name for the type of its object. With it, the compiler finds
// Channel's type parameters, which do nothing, in the type of the channel.
// Channel[client.Object](...) compiles as well.
type genericOf[object any] interface {
	~struct{ Object object }
}

// channelSource has one goroutine that receives, and another for each controller, so that a
// handler that is slow blocks only when its buffer is full.
type channelSource struct {
	from       <-chan event.GenericEvent
	handler    handler.EventHandler
	predicates []predicate.Predicate
	bufferSize int
	runs       runs

	mu sync.Mutex // guards the rest
	// replaced, and never changed, so that one can go through it without the lock
	listeners []*channelListener
	receiving *receiving // nil if nobody receives; so there is never more than one
}

// channelListener is a controller that watches the source.
type channelListener struct {
	events chan event.GenericEvent // sent to and closed by receive; bufferSize
	gone   <-chan struct{}         // closed when the listener's context ends
}

// receiving is the goroutine that receives.
type receiving struct {
	// the last listener sends, receive receives; unbuffered, so that the one knows that the other
	// looks
	nobody chan struct{}
	ended  chan struct{} // closed by receive
}

// Start implements Source.
func (s *channelSource) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
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
	l := &channelListener{events: make(chan event.GenericEvent, s.bufferSize), gone: ctx.Done()}
	r := s.runs.begin(ctx)
	s.add(l)
	go func() {
		defer s.runs.end(r)
		defer s.remove(l)
		l.deliver(ctx, pipeline)
	}()
	return nil
}

func (l *channelListener) deliver(ctx context.Context, to *pipeline) {
	for {
		select {
		case e, open := <-l.events:
			if !open || ctx.Err() != nil {
				return
			}
			to.generic(ctx, e)
		case <-ctx.Done():
			return
		}
	}
}

func (s *channelSource) add(l *channelListener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clip(s.listeners), l)
	if s.receiving == nil {
		s.receiving = &receiving{nobody: make(chan struct{}), ended: make(chan struct{})}
		go s.receive(s.receiving)
	}
}

// remove also ends the goroutine that receives if this was the last listener.
func (s *channelSource) remove(l *channelListener) {
	s.mu.Lock()
	s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(other *channelListener) bool {
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

// receive ends when nobody watches. A listener whose context has ended counts as nobody even while
// its handler still runs: nothing would be left in the channel when that returns.
func (s *channelSource) receive(r *receiving) {
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

// isWatched forgets listeners that are gone. If it returns false, the next listener starts another
// goroutine.
func (s *channelSource) isWatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isGone := func(l *channelListener) bool { return isClosed(l.gone) }
	if slices.ContainsFunc(s.listeners, isGone) {
		s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), isGone)
	}
	if len(s.listeners) == 0 {
		s.receiving = nil
	}
	return s.receiving != nil
}

func (s *channelSource) distribute(e event.GenericEvent) {
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
func (s *channelSource) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		close(l.events)
	}
	s.listeners, s.receiving = nil, nil
}

// WaitForStop implements controller.StoppingSource.
func (s *channelSource) WaitForStop() { s.runs.WaitForStop() }

// String is what the source is called in messages.
func (s *channelSource) String() string { return fmt.Sprintf("channel source: %p", s) }
