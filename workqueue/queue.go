package workqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Queue hands items to workers, each item to one worker at a time. Its methods may be called from
// any goroutine.
//
// Guarantees: after an Add, some worker begins to work on the item; all adds before that moment are
// one piece of work. No two workers hold the same item. Items come out in the order in which they
// went in; one that was added while a worker held it goes in when that worker is done.
//
// Caveats: if a worker takes an item and never calls Done, no other worker gets the item, and a
// drain doesn't end. The queue isn't bounded: it holds as many items as there are different ones.
//
// An item must be equal to itself. One that holds a NaN isn't: each Add of it is new work, Done
// can't know which one you mean and reports it, and a drain waits forever. If an item can't be
// compared, such as a slice in an interface, Add panics and leaves the queue unchanged.
//
// A Queue has no goroutine. It satisfies client-go's workqueue.TypedInterface.
type Queue[T comparable] struct {
	options Options[T]
	meter   *queueMeter    // nil without Options.Metrics
	started time.Time      // the zero of all durations in the queue
	timed   bool           // metrics or a recorder need the times
	group   func(T) string // of items that take turns; the priority queue sets its own

	// wake has a token while an item is ready that a sleeping worker could take. It's sent to with
	// mu held and never closed; workers in Next receive. There's room for one: a worker that leaves
	// items behind sends the next token. So workers wake up one after another, instead of all for
	// one item.
	wake chan struct{}
	// stopped is closed by the shutdown; workers in Next receive.
	stopped chan struct{}

	mu       sync.Mutex // guards all below
	dedup    dedup[T]
	stopping bool // since ShutDown or Drain
	// drained is closed when the queue is empty after a shutdown, or when the wait for that is
	// given up. Drain receives; nil when no caller waits.
	drained chan struct{}
	// closing is an outer layer's work at shutdown. It's called once, with mu held, and returns how
	// many items it has added as new work.
	closing func() (added int)
}

// Options of a queue. The zero value works.
type Options[T comparable] struct {
	// Name is the queue's name in metrics and in the flight recorder, usually the controller's.
	Name string
	// Metrics makes the queue's metrics; nil measures nothing, and costs nothing.
	Metrics MetricsProvider
	// Recorder gets an event for each step of an item; nil is off.
	Recorder *trace.Recorder
	// Key returns an item's namespace and name for the recorder. By default the name is the item as
	// fmt prints it. With a Recorder, Key is called with the queue's lock held; without Key, so is
	// the item's String method. Neither may call the queue, nor panic.
	Key func(item T) (namespace, name string)
	// Kind is what the recorder calls the kind of the objects that items name, such as
	// "Deployment". Without it, a Deployment and a Service of the same name look alike there.
	Kind string
	// Report is called when the queue is misused, with Done for an item that no worker holds for
	// instance. By default such errors are logged with slog.
	Report func(error)
}

// New returns a queue that is first in, first out.
func New[T comparable](options Options[T]) *Queue[T] {
	q := new(Queue[T])
	q.init(options, &fifo[T]{})
	return q
}

func (q *Queue[T]) init(options Options[T], order readyOrder[T]) {
	q.options, q.started = options, time.Now()
	q.dedup = newDedup(order)
	q.wake, q.stopped = make(chan struct{}, 1), make(chan struct{})
	q.timed = options.Metrics != nil || options.Recorder.On()
	if q.group == nil {
		q.group = func(T) string { return "" }
	}
	if options.Report == nil {
		q.options.Report = func(err error) {
			slog.Error("misused work queue", "queue", options.Name, "error", err)
		}
	}
	if options.Metrics != nil {
		q.meter = q.newMeter(options.Metrics)
	}
}

// ErrShutDown is the error of Next when the queue is shut down and empty.
var ErrShutDown = errors.New("the work queue is shut down")

// ErrNotDrained is the error of Drain when ShutDown ended it early.
var ErrNotDrained = errors.New("the work queue was shut down before it was drained")

// Add says that an item needs work. After a shutdown it does nothing.
func (q *Queue[T]) Add(item T) { q.insert(item, Causes{Count: 1}) }

// AddBecause is Add with a reason, which the worker finds in Work.Causes.
func (q *Queue[T]) AddBecause(item T, reason string) { q.insert(item, because(reason)) }

// insert is for what's added at once; DelayingQueue.addWith is for what may come later.
func (q *Queue[T]) insert(item T, causes Causes) {
	if q.lockAndInsert(item, q.group(item), causes) {
		q.meter.added(1)
	}
}

func (q *Queue[T]) lockAndInsert(item T, group string, causes Causes) (fresh bool) {
	q.mu.Lock()
	defer q.mu.Unlock() // even if the item can't be compared, and the map panics
	return !q.stopping && q.addLocked(item, group, 0, causes)
}

// addLocked adds items of all layers. It returns true if the item is new work, and false if it was
// merged into work that was already waiting.
func (q *Queue[T]) addLocked(item T, group string, priority int, causes Causes) (fresh bool) {
	verdict := q.dedup.add(item, group, priority, causes, q.now())
	if verdict == queued {
		q.wakeLocked()
	}
	if q.options.Recorder.On() {
		q.recordAdd(item, verdict, causes)
	}
	return verdict != merged
}

// wakeLocked wakes a worker if there's something to do. If there's already a token, some worker
// will take it, and pass it on if necessary.
func (q *Queue[T]) wakeLocked() {
	if q.dedup.ready == 0 {
		return
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Work is an item for a worker, with what the queue knows about it.
type Work[T comparable] struct {
	Item T
	// Priority is the highest of all adds; 0 if none had one.
	Priority int
	// Causes are the causes of all adds that this piece of work answers.
	Causes Causes
	// Waited is how long ago the first of them was; 0 if the queue has neither metrics nor a
	// recorder.
	Waited time.Duration
}

// Get waits for an item and returns it. Call Done when you've finished with it. When the queue is
// shut down and empty, shutdown is true and there's no item.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	work, err := q.Next(context.Background())
	return work.Item, err != nil
}

// Next is Get with a context, and returns everything that the queue knows about the item. Its
// errors are ErrShutDown, and the cause of ctx's end. If an item is ready, it's returned even if
// ctx has ended.
func (q *Queue[T]) Next(ctx context.Context) (Work[T], error) {
	q.mu.Lock()
	for q.dedup.ready == 0 {
		stopping := q.stopping
		q.mu.Unlock()
		if stopping {
			return Work[T]{}, ErrShutDown
		}
		select {
		case <-q.wake:
		case <-q.stopped:
		case <-ctx.Done():
			return Work[T]{}, context.Cause(ctx)
		}
		q.mu.Lock()
	}
	e := q.takeLocked()
	q.mu.Unlock()
	work := Work[T]{Item: e.item, Priority: e.priority, Causes: e.causes, Waited: e.taken - e.since}
	q.meter.took(work.Waited)
	return work, nil
}

// takeLocked hands an item out; one must be ready. It wakes another worker for the next one.
func (q *Queue[T]) takeLocked() *entry[T] {
	e := q.dedup.take(q.now())
	q.wakeLocked()
	if q.options.Recorder.On() {
		q.record(e.item, trace.Event{Kind: trace.Dequeue, Took: e.taken - e.since,
			Reason: e.causes.String(), Count: e.causes.Count})
	}
	return e
}

// Done says that the caller has finished with an item from Get. If the item was added meanwhile, it
// waits for a worker again.
//
// Done for an item that no worker holds changes nothing, and is reported to Options.Report: it's a
// bug in the caller, which may next call Done for an item that another worker holds. client-go
// doesn't notice; if the item waits, it's put in a second time there, and two workers may get it.
func (q *Queue[T]) Done(item T) {
	worked, gauges, held := q.lockAndDone(item)
	if !held {
		q.options.Report(fmt.Errorf("done called for %v, which no worker holds", item))
		return
	}
	q.meter.worked(worked)
	forgetAll(gauges)
}

func (q *Queue[T]) lockAndDone(item T) (worked time.Duration, gauges []func(), held bool) {
	q.mu.Lock()
	defer q.mu.Unlock() // even if the item can't be compared, and the map panics
	e := q.dedup.done(item)
	if e == nil {
		return 0, nil, false
	}
	worked = q.now() - e.taken
	q.wakeLocked()
	if q.stopping {
		gauges = q.finishedLocked()
	}
	if q.options.Recorder.On() {
		q.record(item, trace.Event{Kind: trace.Done, Took: worked})
	}
	return worked, gauges, true
}

// Len is the number of items that wait for a worker, for information only.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dedup.ready
}

// now is a duration since the queue was made, on the monotonic clock: a jump of the wall clock
// doesn't move it. Reading a clock costs as much as the rest of an Add, so we do that only for
// metrics and a recorder.
func (q *Queue[T]) now() time.Duration {
	if !q.timed {
		return 0
	}
	return time.Since(q.started)
}

// ShutDown makes the queue ignore adds from now on. Workers get the items that already wait, and
// then learn that the queue is shut down. It returns at once, and ends a Drain. You can call it any
// number of times, even from a worker.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	added := q.shutDownLocked()
	gauges := q.finishedLocked()
	q.releaseLocked()
	q.mu.Unlock()
	q.meter.added(added)
	forgetAll(gauges)
}

// Drain shuts down and waits until all items that were added before have been worked on: those in
// the queue, those that workers hold, and those that were added while a worker held them. If ctx
// ends first, it returns the cause; if somebody calls ShutDown and items are left, it returns
// ErrNotDrained.
//
// A worker must not call it while it holds an item: it would wait for itself.
//
// client-go's ShutDownWithDrain waits only until no worker holds an item, and so returns at once if
// all items are still in the queue. controller-runtime's doesn't wait at all, and drops the items
// in the queue.
func (q *Queue[T]) Drain(ctx context.Context) error {
	q.mu.Lock()
	added := q.shutDownLocked()
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	drained := q.drained
	gauges := q.finishedLocked()
	q.mu.Unlock()
	q.meter.added(added)
	forgetAll(gauges)
	select {
	case <-drained:
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.dedup.empty():
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return ErrNotDrained
	}
}

// ShutDownWithDrain is Drain without a context. ShutDown ends it, too.
func (q *Queue[T]) ShutDownWithDrain() { _ = q.Drain(context.Background()) }

// ShuttingDown is true from the first call of ShutDown or Drain on.
func (q *Queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stopping
}

// shutDownLocked returns how many items it has added as new work.
func (q *Queue[T]) shutDownLocked() (added int) {
	if q.stopping {
		return 0
	}
	q.stopping = true
	if q.closing != nil {
		added = q.closing()
	}
	close(q.stopped)
	if rec := q.options.Recorder; rec.On() {
		rec.Record(trace.Event{Kind: trace.Stop, Layer: q.layer(),
			Reason: "the queue is shut down"})
	}
	return added
}

// finishedLocked is called after a shutdown, and when an item is done after that. If there's
// nothing left to wait for, it ends every Drain, and returns the gauges. The caller forgets them
// after releasing the lock.
func (q *Queue[T]) finishedLocked() (gauges []func()) {
	if !q.dedup.empty() {
		return nil
	}
	q.releaseLocked()
	return q.meter.gaugesLocked()
}

// releaseLocked ends every Drain that waits. The next Drain makes a new channel.
func (q *Queue[T]) releaseLocked() {
	if q.drained != nil {
		close(q.drained)
		q.drained = nil
	}
}
