package workqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// Queue hands items to workers, each item to one worker at a time. Its methods
// may be called from any goroutine.
//
// Guarantees: after an Add, some worker begins to work on the item; all adds
// before that moment are one piece of work. No two workers hold the same item.
// Items come out in the order in which they went in; one that was added while a
// worker held it goes in when that worker is done.
//
// Caveats: a worker that takes an item and never calls Done keeps the item from
// everybody, and a drain from ending. The queue is not bounded: it holds as many
// items as are different.
//
// An item must be equal to itself. One that holds a NaN is not: each Add of it is new
// work, Done cannot know which is meant and reports it, and a drain waits forever. An
// item that cannot be compared, such as a slice in an interface, makes Add panic, and
// leaves the queue as it was.
//
// A Queue has no goroutine. It satisfies client-go's workqueue.TypedInterface.
type Queue[T comparable] struct {
	options Options[T]
	meter   *queueMeter    // nil without Options.Metrics
	started time.Time      // the zero of all durations in the queue
	timed   bool           // metrics or a recorder need the times
	group   func(T) string // the priority queue's; nil is one group for all

	mu       spinMutex // guards all below
	dedup    dedup[T]
	parking  parkingLot
	stopping bool // since ShutDown or Drain
	// drained is closed when the queue is empty after a shutdown, or when somebody
	// stops waiting for that. Drain receives; nil when nobody waits.
	drained chan struct{}
	// closing is what an outer layer has to do at shutdown. It is called once, with
	// mu held, and returns how many items it has added as new work.
	closing func() (added int)
}

// Options of a queue. The zero value works.
type Options[T comparable] struct {
	// Name is the queue's name in metrics and in the flight recorder, usually
	// that of the controller.
	Name string
	// Metrics makes the queue's metrics; nil measures nothing, and costs nothing.
	Metrics MetricsProvider
	// Recorder gets an event for each step of an item; nil is off.
	Recorder *trace.Recorder
	// Key is an item's namespace and name in the recorder. By default the name is
	// the item as fmt prints it. With a Recorder, Key is called with the queue's lock
	// held; so is the item's String method if there is no Key. Neither may call the
	// queue, nor panic.
	Key func(item T) (namespace, name string)
	// Kind is the kind of the objects that items name, such as "Deployment", in the
	// recorder. Without it, a Deployment and a Service of the same name look alike there.
	Kind string
	// Report is called with mistakes in the use of the queue, such as Done for an
	// item that no worker holds. By default they are logged with slog.
	Report func(error)
}

// New returns a queue that is first-in first-out.
func New[T comparable](options Options[T]) *Queue[T] {
	q := new(Queue[T])
	q.init(options, &fifo[T]{})
	return q
}

func (q *Queue[T]) init(options Options[T], order readyOrder[T]) {
	q.options, q.started = options, time.Now()
	q.dedup.order = order
	q.timed = options.Metrics != nil || options.Recorder.On()
	if options.Report == nil {
		q.options.Report = func(err error) { slog.Error("misused work queue", "queue", options.Name, "error", err) }
	}
	if options.Metrics != nil {
		q.meter = q.newMeter(options.Metrics)
	}
}

// ErrShutDown is what Next returns when the queue is shut down and empty.
var ErrShutDown = errors.New("the work queue is shut down")

// ErrNotDrained is what Drain returns when ShutDown ended it early.
var ErrNotDrained = errors.New("the work queue was shut down before it was drained")

// Add says that an item needs a look. After a shutdown it does nothing.
func (q *Queue[T]) Add(item T) { q.insert(item, Causes{Count: 1}) }

// AddBecause is Add with a reason, which the worker finds in Work.Causes.
func (q *Queue[T]) AddBecause(item T, reason string) { q.insert(item, because(reason)) }

func (q *Queue[T]) insert(item T, causes Causes) {
	hash, group := hashOf(item), q.groupOf(item)
	if !q.mu.TryLock() {
		q.mu.lockSlow()
	}
	fresh := !q.stopping && q.addLocked(q.dedup.entryOf(item, hash, group), 0, causes)
	q.mu.Unlock()
	q.meter.added(fresh)
}

// groupOf is called without the lock: it is the user's code.
func (q *Queue[T]) groupOf(item T) string {
	if q.group == nil {
		return ""
	}
	return q.group(item)
}

// addLocked is how items of all layers come in. It returns true if the item is
// new work, and false if it was merged into work that waited already.
func (q *Queue[T]) addLocked(e *entry[T], priority int, causes Causes) (fresh bool) {
	verdict := q.dedup.add(e, priority, causes, q.now())
	if verdict == queued {
		q.parking.wakeOne(q.dedup.ready)
	}
	if q.options.Recorder.On() {
		q.recordAdd(e.item, verdict, causes)
	}
	return verdict != merged
}

// Work is an item that was handed out, with what the queue knows about it.
type Work[T comparable] struct {
	Item T
	// Priority is the highest of all adds; 0 if none gave one.
	Priority int
	// Causes are those of all adds that this piece of work answers.
	Causes Causes
	// Waited is how long ago the first of them was; 0 if the queue has neither
	// metrics nor a recorder.
	Waited time.Duration
}

// Get waits for an item and hands it out. The caller must call Done when it is
// finished. When the queue is shut down and empty, shutdown is true and there is
// no item.
func (q *Queue[T]) Get() (item T, shutdown bool) {
	if !q.mu.TryLock() {
		q.mu.lockSlow()
	}
	for q.dedup.ready == 0 {
		if q.stopping {
			q.mu.Unlock()
			return item, true
		}
		w := q.parking.park()
		q.mu.Unlock()
		<-w.wake
		q.mu.Lock()
		q.parking.arrive(w)
	}
	e := q.takeLocked()
	item, waited := e.item, e.taken-e.since
	q.mu.Unlock()
	q.meter.took(waited)
	return item, false
}

// Next is Get with a context, and with all that is known about the item. It
// returns ErrShutDown, or the cause of ctx's end. An item that is ready is
// handed out even if ctx has ended.
func (q *Queue[T]) Next(ctx context.Context) (Work[T], error) {
	if !q.mu.TryLock() {
		q.mu.lockSlow()
	}
	for q.dedup.ready == 0 {
		if q.stopping {
			q.mu.Unlock()
			return Work[T]{}, ErrShutDown
		}
		w := q.parking.park()
		q.mu.Unlock()
		select {
		case <-w.wake:
			q.mu.Lock()
			q.parking.arrive(w)
		case <-ctx.Done():
			q.mu.Lock()
			q.parking.leave(w)
			q.parking.wakeOne(q.dedup.ready)
			q.mu.Unlock()
			return Work[T]{}, context.Cause(ctx)
		}
	}
	e := q.takeLocked()
	work := Work[T]{Item: e.item, Priority: e.priority, Causes: e.causes, Waited: e.taken - e.since}
	q.mu.Unlock()
	q.meter.took(work.Waited)
	return work, nil
}

// takeLocked hands an item out; one must be ready. It wakes another worker for the
// next one.
func (q *Queue[T]) takeLocked() *entry[T] {
	e := q.dedup.take(q.now())
	q.parking.wakeOne(q.dedup.ready)
	if q.options.Recorder.On() {
		q.record(e.item, trace.Event{Kind: trace.Dequeue, Took: e.taken - e.since, Reason: e.causes.String(), Count: e.causes.Count})
	}
	return e
}

// Done says that the caller is finished with an item that it was handed. If the
// item was added meanwhile, it waits for a worker again.
//
// Done for an item that no worker holds changes nothing, and is reported to
// Options.Report: it is a bug of the caller, which may next call Done for an item
// that another worker holds. client-go does not notice; if the item waits, it is
// put in a second time there, and two workers may get it.
func (q *Queue[T]) Done(item T) {
	hash := hashOf(item)
	if !q.mu.TryLock() {
		q.mu.lockSlow()
	}
	e := q.dedup.done(item, hash)
	if e == nil {
		q.mu.Unlock()
		q.options.Report(fmt.Errorf("done called for %v, which no worker holds", item))
		return
	}
	var worked time.Duration
	if q.timed {
		worked = q.now() - e.taken
	}
	q.parking.wakeOne(q.dedup.ready)
	var gauges []func()
	if q.stopping {
		gauges = q.finishedLocked()
	}
	if q.options.Recorder.On() {
		q.record(item, trace.Event{Kind: trace.Done, Took: worked})
	}
	q.mu.Unlock()
	q.meter.worked(worked)
	forgetAll(gauges)
}

// Len is the number of items that wait for a worker, for information only.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dedup.ready
}

// now is a duration since the queue was made, on the monotonic clock: a jump of
// the wall clock does not move it. Reading a clock costs as much as the rest of
// an Add, so it is read only for metrics and a recorder.
func (q *Queue[T]) now() time.Duration {
	if !q.timed {
		return 0
	}
	return time.Since(q.started)
}
