package informer

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync"
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

	mu      sync.Mutex // guards what follows
	backlog backlog[T]
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

func newListener[T Object](handler Handler[T], options HandlerOptions, about about) *listener[T] {
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
	l.counts.Deepest = max(l.counts.Deepest, l.backlog.len())
	l.whole = l.whole || whole
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// run calls the handler until the context ends or the listener is removed.
func (l *listener[T]) run(ctx context.Context) {
	defer l.end()
	batch := make([]untold[T], 0, listenerBatch)
	for {
		batch = l.take(batch[:0])
		for i := range batch {
			if l.stopped(ctx) {
				return
			}
			l.tell(&batch[i])
		}
		handled := len(batch)
		clear(batch) // lets go of the objects
		l.finish(handled)
		if handled > 0 {
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
	return l.backlog.take(batch, listenerBatch)
}

// finish counts what was told. Only then is the initial list complete: a handler
// that has not returned has not seen the object.
func (l *listener[T]) finish(told int) {
	l.mu.Lock()
	l.counts.Told += uint64(told)
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

// tell calls the handler and survives its panic: a bug of one handler must not
// take the others' cache away.
func (l *listener[T]) tell(u *untold[T]) {
	defer func() {
		if value := recover(); value != nil {
			l.mu.Lock()
			l.counts.Panics++
			l.mu.Unlock()
			l.about.panicked(HandlerPanic{Handler: l.options.Name, Key: u.key(), Value: value, Stack: debug.Stack()})
		}
	}()
	if l.about.recorder.On() {
		l.record(u)
	}
	u.tell(l.handler)
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
	counts.Keys = l.backlog.len()
	return counts
}
