package workqueue

import (
	"strconv"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// DelayingQueue is a Queue that can add an item later.
//
// Guarantees: an item is added when its delay is over, never before; AddAfter
// never waits. An item is due once: of several delays the earliest wins, an Add
// brings a delayed item forward, and a delay for an item that waits for a worker
// already is over before it began. A jump of the wall clock changes nothing.
//
// Caveats: a shutdown drops what is not due yet; Dropped says how many that
// were. A drain does not wait for them.
//
// It has one timer and no goroutine: the runtime starts one when the timer is
// up, for as long as it takes to add what is due. client-go has a goroutine, which
// AddAfter hands its items through a channel with room for 1000: with more at a
// time, the caller waits. There a delay cannot be taken back or put off, and an
// item that was added meanwhile is worked on again when its delay ends.
//
// It satisfies client-go's workqueue.TypedDelayingInterface.
type DelayingQueue[T comparable] struct {
	Queue[T]

	// Guarded by Queue.mu, as all the rest.
	delays  delays[T]
	timer   *time.Timer   // nil until it is needed
	armed   time.Duration // when the timer will be up; 0 if it is not running
	dropped int
}

// NewDelaying returns a DelayingQueue that is first-in first-out among the items
// that are due.
func NewDelaying[T comparable](options Options[T]) *DelayingQueue[T] {
	q := new(DelayingQueue[T])
	q.initDelaying(options, &fifo[T]{})
	return q
}

func (q *DelayingQueue[T]) initDelaying(options Options[T], line line[T]) {
	q.init(options, line)
	q.closing = q.dropLocked
}

// Add says that an item needs a look now. It ends the item's delay.
func (q *DelayingQueue[T]) Add(item T) { q.addNow(item, Causes{Count: 1}) }

// AddBecause is Add with a reason.
func (q *DelayingQueue[T]) AddBecause(item T, reason string) { q.addNow(item, because(reason)) }

func (q *DelayingQueue[T]) addNow(item T, causes Causes) {
	hash, group := hashOf(item), q.groupOf(item)
	q.mu.Lock()
	fresh := !q.shutDown && q.addNowLocked(q.dedup.entries.of(item, hash, group), 0, causes)
	q.mu.Unlock()
	q.meter.added(fresh)
}

// AddAfter adds an item when a while has passed; at once if that is zero or less.
// If the item has a delay already, the earlier one wins.
func (q *DelayingQueue[T]) AddAfter(item T, while time.Duration) {
	if q.want(item, wish{after: while, causes: Causes{Count: 1}}) {
		q.meter.retried()
	}
}

// ReplaceAfter is AddAfter, but the new delay wins, even if it ends later. An
// item that waits for a worker already is not held back.
func (q *DelayingQueue[T]) ReplaceAfter(item T, while time.Duration) {
	if q.want(item, wish{after: while, causes: Causes{Count: 1}, replace: true}) {
		q.meter.retried()
	}
}

// Cancel takes an item's delay back. It is false if there was none: the item may
// have become due, and wait for a worker.
func (q *DelayingQueue[T]) Cancel(item T) bool {
	hash := hashOf(item)
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.dedup.entries.find(item, hash)
	if e == nil || e.place == 0 {
		return false
	}
	q.delays.take(e)
	q.armLocked()
	q.dedup.forget(e)
	return true
}

// Delayed is the number of items that are not due yet.
func (q *DelayingQueue[T]) Delayed() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.delays.heap)
}

// Dropped is the number of items that were not due yet at the shutdown.
func (q *DelayingQueue[T]) Dropped() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// want is how items of this layer and those above come in. It is false after a shutdown.
func (q *DelayingQueue[T]) want(item T, w wish) bool {
	hash, group := hashOf(item), q.groupOf(item)
	var now time.Duration
	if w.after > 0 {
		now = time.Since(q.started)
	}
	q.mu.Lock()
	open := !q.shutDown
	fresh := open && q.wantLocked(q.dedup.entries.of(item, hash, group), now, w)
	q.mu.Unlock()
	q.meter.added(fresh)
	return open
}

// wantLocked tells whether the item was added now, as new work.
func (q *DelayingQueue[T]) wantLocked(e *entry[T], now time.Duration, w wish) (fresh bool) {
	if w.after <= 0 || e.dirty {
		return q.addNowLocked(e, w.priority, w.causes)
	}
	change := q.delays.add(e, later(now, w.after), w)
	q.armLocked()
	if q.options.Recorder.On() {
		w.after = q.delays.until(e) - now
		q.recordDelay(e.item, w, change)
	}
	return false
}

// addNowLocked adds an item with all that was asked for in its delay.
func (q *DelayingQueue[T]) addNowLocked(e *entry[T], priority int, causes Causes) bool {
	if e.place != 0 {
		q.delays.take(e)
		q.armLocked()
		priority = max(priority, e.priority)
		e.causes.merge(causes)
		causes = e.causes
	}
	return q.addLocked(e, priority, causes)
}

// armLocked sets the timer to the first moment at which something is due. It
// leaves a timer alone that will be up earlier: to wake up once for nothing is
// cheaper than to move the timer at each step.
func (q *DelayingQueue[T]) armLocked() {
	at, ok := q.delays.next()
	if !ok || q.armed != 0 && q.armed <= at {
		return
	}
	q.armed = at
	while := max(at-time.Since(q.started), 0)
	if q.timer == nil {
		q.timer = time.AfterFunc(while, q.addDue)
	} else {
		q.timer.Reset(while)
	}
}

// dueAtOnce is how many items addDue adds before it lets others have the lock.
const dueAtOnce = 100

// addDue is called when the timer is up.
func (q *DelayingQueue[T]) addDue() {
	for more := true; more; {
		q.mu.Lock()
		var added int
		if added, more = q.addDueLocked(dueAtOnce); !more {
			q.armed = 0
			q.armLocked()
		}
		q.mu.Unlock()
		q.meter.addedMany(added)
	}
}

// addDueLocked adds what is due, but no more than so many items. It tells how many of
// them are new work, and whether there may be more.
func (q *DelayingQueue[T]) addDueLocked(most int) (added int, more bool) {
	now := time.Since(q.started)
	for range most {
		e := q.delays.pop(now)
		if e == nil {
			return added, false
		}
		if q.addLocked(e, e.priority, e.causes) {
			added++
		}
	}
	return added, true
}

// dropLocked is what a shutdown means for delays. What is due is added first: addDue may
// be late, or be in the middle of it.
func (q *DelayingQueue[T]) dropLocked() (added int) {
	added, _ = q.addDueLocked(len(q.delays.heap))
	q.dropped = len(q.delays.heap)
	for _, waiting := range q.delays.heap {
		waiting.entry.place = 0
		q.dedup.forget(waiting.entry)
	}
	q.delays = delays[T]{}
	if q.timer != nil {
		q.timer.Stop()
	}
	if rec := q.options.Recorder; rec.On() && q.dropped > 0 {
		rec.Record(trace.Event{Kind: trace.Note, Layer: q.layer(), Count: q.dropped, Reason: dropped(q.dropped)})
	}
	return added
}

func dropped(n int) string {
	if n == 1 {
		return "1 delayed item dropped"
	}
	return strconv.Itoa(n) + " delayed items dropped"
}

func (q *DelayingQueue[T]) recordDelay(item T, w wish, change change) {
	event := trace.Event{Kind: trace.Delay, Took: w.after, Reason: w.causes.String(), Count: w.failures}
	switch change {
	case moved:
		event.Outcome = trace.Replaced
	case kept:
		event.Outcome = trace.Deduplicated
	}
	q.record(item, event)
}
