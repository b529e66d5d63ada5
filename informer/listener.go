package informer

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// listener is a handler with a backlog and a goroutine of its own, so that it
// holds up neither the informer nor other handlers.
//
// client-go's has a ring buffer that grows with every notification that a slow
// handler has not taken, and two goroutines with two channels for each of them.
type listener[T Object] struct {
	handler Handler[T]
	options HandlerOptions
	about   about

	news    chan struct{} // sent to by push, received by run; one, because the backlog holds the news itself
	synced  chan struct{} // closed by run
	removed chan struct{} // closed by remove
	done    chan struct{} // closed by end, which run calls, or the informer if it never ran
	remove  func()
	forget  func() // its metrics; nil if there are none

	// Used by the informer's loop only:
	resyncing bool      // Sync deltas are for this listener
	next      time.Time // when the next resync is due

	inHand atomic.Int64 // taken out of the backlog and not told yet; run counts down without the lock

	mu      sync.Mutex // guards what follows
	backlog backlog[T]
	taken   uint64 // all that ever was
	counts  Backlog
	whole   bool // no more objects of the initial list will come
}

// about is what an informer's parts tell the flight recorder and the reports.
type about struct {
	recorder *trace.Recorder
	kind     string
	panicked func(HandlerPanic)
	metrics  MetricsProvider // or nil
}

// listenerBatch is how many keys a listener takes out of its backlog at once: enough
// to make the lock cheap. What is taken can no longer coalesce.
const listenerBatch = 64

// leastResync is the shortest period of a resync, as in client-go. A period that is
// shorter than one walk through the store would keep the informer from all else.
const leastResync = time.Second

func newListener[T Object](handler Handler[T], options HandlerOptions, about about) *listener[T] {
	if options.Resync > 0 {
		options.Resync = max(options.Resync, leastResync)
	}
	l := &listener[T]{
		handler: handler, options: options, about: about,
		news: make(chan struct{}, 1), synced: make(chan struct{}), removed: make(chan struct{}), done: make(chan struct{}),
	}
	l.remove = sync.OnceFunc(func() { close(l.removed) })
	if about.metrics != nil {
		l.register(about.metrics)
	}
	return l
}

// push adds deltas to the backlog; slots are those of their objects. It never waits
// for the handler.
func (l *listener[T]) push(deltas []Delta[T], slots []slot, whole bool) {
	l.mu.Lock()
	for i := range deltas {
		if deltas[i].Type != DeltaSync || l.resyncing {
			l.backlog.note(slots[i], deltas[i])
		}
	}
	l.counts.Deepest = max(l.counts.Deepest, l.keysLocked())
	l.whole = l.whole || whole
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

var errGoexit = errors.New("the handler ended its goroutine by runtime.Goexit, and was removed")

// run calls the handler until the context ends or the listener is removed. If the
// handler ends the goroutine, that removes it: nobody would take out of its backlog.
func (l *listener[T]) run(ctx context.Context) {
	ended := true // unless work returns
	defer func() {
		if ended {
			l.report(Key{}, errGoexit)
		}
		l.remove()
		l.end()
	}()
	l.work(ctx)
	ended = false
}

func (l *listener[T]) work(ctx context.Context) {
	caller := &caller[T]{listener: l, over: func() bool { return l.stopped(ctx) }}
	batch := make([]untold[T], 0, listenerBatch)
	for {
		batch = l.take(batch[:0])
		for i := range batch {
			if l.stopped(ctx) {
				return
			}
			if l.about.recorder.On() {
				l.record(&batch[i])
			}
			batch[i].tell(caller)
			l.inHand.Add(-1)
		}
		clear(batch) // lets go of the objects
		l.finish()
		if len(batch) > 0 {
			continue
		}
		select {
		case <-l.news:
		case <-l.removed:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (l *listener[T]) take(batch []untold[T]) []untold[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch = l.backlog.take(batch, listenerBatch)
	l.taken += uint64(len(batch))
	l.inHand.Store(int64(len(batch)))
	return batch
}

// finish comes when all that was taken was told. Only then may the initial list be
// complete: a handler that has not returned has not seen the object.
func (l *listener[T]) finish() {
	l.mu.Lock()
	synced := l.whole && l.backlog.initial == 0
	l.mu.Unlock()
	if synced {
		select {
		case <-l.synced:
		default:
			close(l.synced)
		}
	}
}

func (l *listener[T]) stopped(ctx context.Context) bool {
	select {
	case <-l.removed:
		return true
	default:
		return ctx.Err() != nil
	}
}

// caller is the handler as an untold sees it. To tell may take two calls, and each
// stands for itself: a panic in OnDelete must not swallow the OnAdd after it, and a
// handler that removes itself in OnDelete is not called any more.
type caller[T Object] struct {
	listener *listener[T]
	over     func() bool // the listener has stopped
}

func (c *caller[T]) OnAdd(object T, initial bool) {
	if !c.over() {
		defer c.listener.survive(object)
		c.listener.handler.OnAdd(object, initial)
	}
}

func (c *caller[T]) OnUpdate(old, object T) {
	if !c.over() {
		defer c.listener.survive(object)
		c.listener.handler.OnUpdate(old, object)
	}
}

func (c *caller[T]) OnDelete(object T, finalStateUnknown bool) {
	if !c.over() {
		defer c.listener.survive(object)
		c.listener.handler.OnDelete(object, finalStateUnknown)
	}
}

// survive is deferred around a call: a bug of one handler must not take the others'
// cache away.
func (l *listener[T]) survive(object T) {
	if value := recover(); value != nil {
		l.report(KeyOf(object), value)
	}
}

func (l *listener[T]) report(key Key, value any) {
	l.mu.Lock()
	l.counts.Panics++
	l.mu.Unlock()
	l.about.panicked(HandlerPanic{Handler: l.options.Name, Key: key, Value: value, Stack: debug.Stack()})
}

func (l *listener[T]) record(u *untold[T]) {
	op, object := "update", u.object
	switch {
	case !u.there:
		op, object = "delete", u.last
	case u.gone:
		op = "delete and add"
	case !u.knows:
		op = "add"
	}
	key := KeyOf(object)
	l.about.recorder.Record(trace.Event{
		Kind: trace.Notified, Layer: cmp.Or(l.options.Name, "listener"), Object: l.about.kind, Op: op,
		Namespace: key.Namespace, Name: key.Name, Version: object.GetResourceVersion(),
	})
}

func (l *listener[T]) measure() Backlog {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.counts
	counts.Keys = l.keysLocked()
	counts.Told = l.taken - uint64(counts.Keys-l.backlog.len())
	return counts
}

// keysLocked counts what is untold: a handler that hangs has not been told of what
// its listener has taken for it.
func (l *listener[T]) keysLocked() int { return l.backlog.len() + int(l.inHand.Load()) }
