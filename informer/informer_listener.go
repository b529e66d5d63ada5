package informer

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// listener is a handler with a backlog and a goroutine of its own, so that it blocks
// neither the informer nor other handlers.
//
// client-go's has two goroutines, with two channels and a ring buffer between them.
type listener[T Object] struct {
	handler     Handler[T]
	options     HandlerOptions
	instruments instruments

	news    chan struct{} // sent to by push, received by run; one, because the backlog holds the news itself
	synced  chan struct{} // closed by run
	removed chan struct{} // closed by remove
	done    chan struct{} // closed by end, which run calls, or the informer if it never ran
	remove  func()
	forget  func() // its metrics; nil if there are none

	// Used by the informer's loop only:
	resyncing bool      // Sync deltas are for this listener
	next      time.Time // when the next resync is due

	inHand   atomic.Int64 // taken out of the queue and not delivered yet; run counts down without the lock
	crashing bool         // used by run only

	mu     sync.Mutex // guards what follows
	queue  notificationQueue[T]
	taken  uint64 // all that ever was
	counts BacklogStats
	whole  bool // no more objects of the initial list will come
}

// instruments is what an informer's parts report to.
type instruments struct {
	recorder      *trace.Recorder
	kind          string
	onPanic       func(HandlerPanic)
	recoverPanics bool
	metrics       MetricsProvider // or nil
}

// listenerBatch is how many notifications a listener takes out of its backlog at once: enough
// to make the lock cheap. What is taken can no longer coalesce.
const listenerBatch = 64

// leastResync is the shortest period of a resync, as in client-go. A period that is
// shorter than one walk through the store would keep the informer from all else.
const leastResync = time.Second

func newListener[T Object](handler Handler[T], options HandlerOptions, instruments instruments) *listener[T] {
	if options.Resync > 0 {
		options.Resync = max(options.Resync, leastResync)
	}
	l := &listener[T]{
		handler: handler, options: options, instruments: instruments,
		news: make(chan struct{}, 1), synced: make(chan struct{}), removed: make(chan struct{}), done: make(chan struct{}),
	}
	l.queue.coalesces = options.Coalesce
	l.remove = sync.OnceFunc(func() { close(l.removed) })
	if instruments.metrics != nil {
		l.register(instruments.metrics)
	}
	return l
}

// push adds deltas to the backlog. It never waits for the handler.
func (l *listener[T]) push(deltas []Delta[T], whole bool) {
	l.mu.Lock()
	for i := range deltas {
		if deltas[i].Type != DeltaSync || l.resyncing {
			l.queue.add(deltas[i])
		}
	}
	l.counts.Deepest = max(l.counts.Deepest, l.pendingLocked())
	l.whole = l.whole || whole
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// run calls the handler until the context ends or the listener is removed. If the
// handler ends the goroutine, nobody empties the queue any more. So that is a crash, too,
// or, with RecoverPanics, removes the handler.
func (l *listener[T]) run(ctx context.Context) {
	returned := false
	defer func() {
		if l.crashing {
			return // the panic goes on
		}
		if !returned {
			l.report(Key{}, errGoexit)
			l.crash(errGoexit)
		}
		l.remove()
		l.end()
	}()
	l.work(ctx)
	returned = true
}

func (l *listener[T]) work(ctx context.Context) {
	caller := &handlerCaller[T]{listener: l, over: func() bool { return l.stopped(ctx) }}
	batch := make([]notification[T], 0, listenerBatch)
	for {
		batch = l.take(batch[:0])
		for i := range batch {
			if l.stopped(ctx) {
				return
			}
			if l.instruments.recorder.On() {
				l.record(&batch[i])
			}
			batch[i].deliver(caller)
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

func (l *listener[T]) take(batch []notification[T]) []notification[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch = l.queue.take(batch, listenerBatch)
	l.taken += uint64(len(batch))
	l.inHand.Store(int64(len(batch)))
	return batch
}

// finish is called when everything that was taken has been delivered. Only then may the
// initial list be complete: a handler that has not returned has not seen the object.
func (l *listener[T]) finish() {
	l.mu.Lock()
	synced := l.whole && l.queue.initial == 0
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

func (l *listener[T]) record(u *notification[T]) {
	op, object := "update", u.object
	switch {
	case !u.exists && !u.known:
		op, object = "add and delete", u.last
	case !u.exists && u.changed:
		op, object = "update and delete", u.last
	case !u.exists:
		op, object = "delete", u.last
	case u.deleted && !u.known:
		op = "add, delete and add"
	case u.changed:
		op = "update, delete and add"
	case u.deleted:
		op = "delete and add"
	case !u.known:
		op = "add"
	}
	key := KeyOf(object)
	l.instruments.recorder.Record(trace.Event{
		Kind: trace.Notified, Layer: cmp.Or(l.options.Name, "listener"), Object: l.instruments.kind, Op: op,
		Namespace: key.Namespace, Name: key.Name, Version: object.GetResourceVersion(),
	})
}

func (l *listener[T]) measure() BacklogStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.counts
	counts.Pending = l.pendingLocked()
	counts.Told = l.taken - uint64(counts.Pending-l.queue.len())
	return counts
}

// pendingLocked counts what has not been delivered. What the listener has taken out of the
// queue is part of it: a handler that hangs has not seen that.
func (l *listener[T]) pendingLocked() int { return l.queue.len() + int(l.inHand.Load()) }
