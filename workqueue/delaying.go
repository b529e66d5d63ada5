package workqueue

import (
	"strconv"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// DelayingQueue is a Queue that can add an item later: it sets an alarm for the item.
//
// Guarantees: an item is added when its alarm is due, never before; AddAfter never waits. An item
// has one alarm at most, and of several delays the earliest wins. The alarm stays until it's due,
// replaced or cancelled; nothing else ends it. So an item that is added while its alarm is pending
// is worked on twice, now and then, and so is an item whose alarm is set while it already waits for
// a worker. Whoever set the alarm relies on it: an extra piece of work is harmless, a missing one
// isn't. A jump of the wall clock changes nothing.
//
// Caveats: a shutdown drops the alarms that aren't due yet; Dropped says how many. A drain doesn't
// wait for them.
//
// It has one timer and no goroutine: the runtime starts one when the timer is up, for as long as it
// takes to add the due items. client-go has a goroutine, which gets AddAfter's items through a
// channel with room for 1000: if there are more at a time, the caller waits. There you can't cancel
// or postpone a delay. As here, an Add doesn't end it. In controller-runtime's priority queue, an
// Add does end it, and the delay of an AddAfter is dropped if the item already waits for a worker;
// but its priority counts at once, and so a plain AddAfter raises an item of LowPriority.
//
// It satisfies client-go's workqueue.TypedDelayingInterface.
type DelayingQueue[T comparable] struct {
	Queue[T]

	// Guarded by Queue.mu, like the other fields.
	delays  delays[T]
	timer   *time.Timer   // nil until it's needed
	armed   time.Duration // when the timer will be up; 0 if it isn't running
	dropped int           // alarms that weren't due at the shutdown
}

// NewDelaying returns a DelayingQueue. Items that are due come out first in, first out.
func NewDelaying[T comparable](options Options[T]) *DelayingQueue[T] {
	q := new(DelayingQueue[T])
	q.initDelaying(options, &fifo[T]{})
	return q
}

func (q *DelayingQueue[T]) initDelaying(options Options[T], order readyOrder[T]) {
	q.init(options, order)
	q.closing = q.dropLocked
}

// AddAfter adds an item after a while; at once if that is zero or negative, which leaves the item's
// alarm alone. If the item already has an alarm, the earlier moment wins.
func (q *DelayingQueue[T]) AddAfter(item T, while time.Duration) {
	if q.addWith(item, addRequest{after: while, causes: Causes{Count: 1}}) {
		q.meter.retried()
	}
}

// ReplaceAfter is AddAfter, but the new moment wins, even if it's later. If that's now, the item's
// alarm goes off now.
func (q *DelayingQueue[T]) ReplaceAfter(item T, while time.Duration) {
	if q.addWith(item, addRequest{after: while, causes: Causes{Count: 1}, replace: true}) {
		q.meter.retried()
	}
}

// Cancel removes an item's alarm. It returns false if there was none: the alarm may have gone off,
// and the item may wait for a worker. Items that already wait aren't cancelled.
func (q *DelayingQueue[T]) Cancel(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.delays.remove(item) != nil
}

// Delayed is the number of items whose alarm isn't due yet. Some of them may wait for a worker at
// the same time, so Len counts them, too.
func (q *DelayingQueue[T]) Delayed() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.delays.heap)
}

// Dropped is the number of alarms that weren't due yet at the shutdown.
func (q *DelayingQueue[T]) Dropped() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// addRequest says how to add an item.
type addRequest struct {
	after    time.Duration // zero or negative is now
	replace  bool          // after counts even if the item has an earlier alarm
	priority int           // a priority queue sets one
	causes   Causes
	failures int // how often the item failed, for the recorder; the retrying queue knows
}

// addWith adds items of this layer and those above. It returns false after a shutdown.
func (q *DelayingQueue[T]) addWith(item T, request addRequest) bool {
	open, fresh := q.lockAndAddWith(item, q.group(item), request)
	if fresh {
		q.meter.added(1)
	}
	return open
}

func (q *DelayingQueue[T]) lockAndAddWith(
	item T, group string, request addRequest,
) (open, fresh bool) {
	q.mu.Lock()
	defer q.mu.Unlock() // even if the item can't be compared, and the map panics
	if q.stopping {
		return false, false
	}
	if request.after > 0 {
		q.setAlarmLocked(item, group, request)
		return true, false
	}
	if request.replace {
		// it goes off now: its work is part of the request
		if a := q.delays.remove(item); a != nil {
			request.priority = max(request.priority, a.priority)
			a.causes.merge(request.causes)
			request.causes = a.causes
		}
	}
	return true, q.addLocked(item, group, request.priority, request.causes)
}

func (q *DelayingQueue[T]) setAlarmLocked(item T, group string, request addRequest) {
	now := time.Since(q.started)
	a, outcome := q.delays.add(item, group, later(now, request.after), request)
	q.armLocked()
	if q.options.Recorder.On() {
		request.after = a.at - now
		q.recordDelay(item, request, outcome)
	}
}

// armLocked sets the timer to the first moment at which an alarm is due. It leaves a timer alone
// that will be up earlier: waking up once for nothing is cheaper than moving the timer at each
// step.
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

// dueAtOnce is how many items addDue adds until it releases the lock for a moment.
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
		q.meter.added(added)
	}
}

// addDueLocked adds items that are due, but at most this many. It returns how many of them are new
// work, and whether there may be more.
func (q *DelayingQueue[T]) addDueLocked(most int) (added int, more bool) {
	now := time.Since(q.started)
	for range most {
		a := q.delays.pop(now)
		if a == nil {
			return added, false
		}
		if q.addLocked(a.item, a.group, a.priority, a.causes) {
			added++
		}
	}
	return added, true
}

// dropLocked drops the alarms at a shutdown. First it adds those that are due: addDue may be late,
// or only halfway through.
func (q *DelayingQueue[T]) dropLocked() (added int) {
	added, _ = q.addDueLocked(len(q.delays.heap))
	q.dropped = len(q.delays.heap)
	q.delays = delays[T]{}
	if q.timer != nil {
		q.timer.Stop()
	}
	if rec := q.options.Recorder; rec.On() && q.dropped > 0 {
		rec.Record(trace.Event{Kind: trace.Note, Layer: q.layer(), Count: q.dropped,
			Reason: alarmsDropped(q.dropped)})
	}
	return added
}

func alarmsDropped(n int) string {
	if n == 1 {
		return "1 delayed item dropped"
	}
	return strconv.Itoa(n) + " delayed items dropped"
}

func (q *DelayingQueue[T]) recordDelay(item T, request addRequest, outcome delayOutcome) {
	event := trace.Event{
		Kind: trace.Delay, Took: request.after, Reason: request.causes.String(),
		Count: request.failures,
	}
	switch outcome {
	case delayMoved:
		event.Outcome = trace.Replaced
	case delayKept:
		event.Outcome = trace.Deduplicated
	}
	q.record(item, event)
}
