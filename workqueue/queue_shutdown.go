package workqueue

import (
	"context"

	"github.com/loopwright/loopwright/trace"
)

// ShutDown makes the queue ignore adds from now on. Workers get what waits
// already, and then learn that the queue is shut down. It returns at once, may
// be called any number of times and from a worker, and ends a Drain.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	added := q.shutDownLocked()
	gauges := q.finishedLocked()
	q.releaseLocked()
	q.mu.Unlock()
	q.meter.addedMany(added)
	forgetAll(gauges)
}

// Drain shuts down and waits until all items that were added before have been
// worked on: those in the queue, those that workers hold, and those that were
// added while a worker held them. It returns the cause of ctx's end if that
// comes first, and ErrNotDrained if somebody calls ShutDown and items are left.
//
// A worker must not call it while it holds an item: it would wait for itself.
//
// client-go's ShutDownWithDrain waits only until no worker holds anything, and
// so returns at once if all items are still in the queue; controller-runtime's
// does not wait at all, and drops what is in the queue.
func (q *Queue[T]) Drain(ctx context.Context) error {
	q.mu.Lock()
	added := q.shutDownLocked()
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	drained := q.drained
	gauges := q.finishedLocked()
	q.mu.Unlock()
	q.meter.addedMany(added)
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
	q.parking.wakeAll()
	if rec := q.options.Recorder; rec.On() {
		rec.Record(trace.Event{Kind: trace.Stop, Layer: q.layer(), Reason: "the queue is shut down"})
	}
	return added
}

// finishedLocked is called after a shutdown, and when an item is done after that. If there is
// nothing left to wait for, it ends every Drain, and returns the gauges, which the caller
// forgets when it has released the lock.
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
