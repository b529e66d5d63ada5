package workqueue

import (
	"math"
	"time"
)

// delayHeap knows which alarms are pending, and which of them is due first. An item has one
// alarm at most. Whether it waits for a worker, or a worker holds it, does not matter here.
//
// It is a value without lock, clock or timer: moments are durations since the
// queue was made, and come in as arguments.
//
// The alarms lie in a heap in which each has up to four below it, none of which
// is due before it. Four, not two, because the heap of a million is then ten
// levels deep instead of twenty, and the four are neighbours in memory. The moments are
// kept beside the pointers, so that a comparison follows no pointer.
//
// Source: D. B. Johnson, Priority queues with update and finding minimum
// spanning trees, 1975 (the d-ary heap).
type delayHeap[T comparable] struct {
	items  heapSlots[T]
	newest uint64 // the heapOrder of the newest alarm
}

// heapItem is a slot of the heap.
type heapItem[T comparable] struct {
	at    time.Duration // when the alarm is due
	alarm *alarmRecord[T]
}

// alarmRecord is what is known about an item that is to be added later. Its priority and causes
// are its own until then: an Add that comes earlier is other work.
type alarmRecord[T comparable] struct {
	tableKey[T, alarmRecord[T]]        // has the item and its hash
	group                       string // of the item
	priority                    int
	causes                      alarmCauses
	heapIndex                   int    // where it is in the heap, counted from 1; 0 if it is not there
	heapOrder                   uint64 // of two that are due at the same moment, the lower comes first
}

// alarmTable finds the alarm of an item.
type alarmTable[T comparable] = itemTable[T, alarmRecord[T], *alarmRecord[T]]

// addRequest is how an item is to be added.
type addRequest struct {
	after    time.Duration // zero or less is now
	replace  bool          // after counts even if the item has an earlier alarm
	priority int           // a priority queue sets one
	causes   Causes
	failures int // how often the item failed, for the recorder; the retrying queue knows
}

// delayOutcome is what became of a request for an alarm.
type delayOutcome uint8

const (
	delayStarted delayOutcome = iota // the alarm is a new one
	delayMoved                       // it was pending, and is due at another moment now
	delayKept                        // it was pending, and its moment stays
)

// add makes an alarm due at a moment. If it is pending already, the earlier moment
// counts, the higher priority, and the causes of both; unless request.replace is
// set: then the new moment counts.
func (d *delayHeap[T]) add(a *alarmRecord[T], at time.Duration, request addRequest) delayOutcome {
	if a.heapIndex == 0 {
		a.priority = request.priority
		a.causes.set(request.causes)
		d.newest++
		a.heapOrder = d.newest
		d.items.push(heapItem[T]{at, a})
		d.up(d.items.n - 1)
		return delayStarted
	}
	a.priority = max(a.priority, request.priority)
	a.causes.merge(request.causes)
	moment := &d.items.at(a.heapIndex - 1).at
	if at == *moment || at > *moment && !request.replace {
		return delayKept
	}
	*moment = at
	d.settle(a.heapIndex - 1)
	return delayMoved
}

// next returns when the first alarm is due; false if there is none.
func (d *delayHeap[T]) next() (at time.Duration, ok bool) {
	if d.items.n == 0 {
		return 0, false
	}
	return d.items.at(0).at, true
}

// due returns when a pending alarm is due.
func (d *delayHeap[T]) due(a *alarmRecord[T]) time.Duration { return d.items.at(a.heapIndex - 1).at }

// pop removes an alarm that is due by now, and returns it; nil if there is none.
func (d *delayHeap[T]) pop(now time.Duration) *alarmRecord[T] {
	if at, ok := d.next(); !ok || at > now {
		return nil
	}
	a := d.items.at(0).alarm
	d.remove(a)
	return a
}

// remove takes an alarm out, due or not, and moves the last one into its slot.
func (d *delayHeap[T]) remove(a *alarmRecord[T]) {
	hole := a.heapIndex - 1
	a.heapIndex = 0
	if moving := d.items.pop(); moving.alarm != a {
		d.put(hole, moving)
		d.settle(hole)
	}
}

const children = 4

// settle moves the item at an index to where it belongs. It moves in one direction at
// most.
func (d *delayHeap[T]) settle(index int) {
	a := d.items.at(index).alarm
	d.up(index)
	d.down(a.heapIndex - 1)
}

// up moves the item at an index towards the front while it is due before the one
// above it.
func (d *delayHeap[T]) up(index int) {
	moving := *d.items.at(index)
	for index > 0 {
		above := (index - 1) / children
		if !moving.before(*d.items.at(above)) {
			break
		}
		d.put(index, *d.items.at(above))
		index = above
	}
	d.put(index, moving)
}

// down moves the item at an index towards the end while one below is due before it.
func (d *delayHeap[T]) down(index int) {
	moving := *d.items.at(index)
	for {
		first := index*children + 1
		below := d.items.upTo(first, children)
		if len(below) == 0 {
			break
		}
		least := 0
		for i := 1; i < len(below); i++ {
			if below[i].before(below[least]) {
				least = i
			}
		}
		if !below[least].before(moving) {
			break
		}
		d.put(index, below[least])
		index = first + least
	}
	d.put(index, moving)
}

func (a heapItem[T]) before(b heapItem[T]) bool {
	return a.at < b.at || a.at == b.at && a.alarm.heapOrder < b.alarm.heapOrder
}

func (d *delayHeap[T]) put(index int, moving heapItem[T]) {
	*d.items.at(index) = moving
	moving.alarm.heapIndex = index + 1
}

// later returns the moment that is a while after now. A delay that is too long to
// count, such as the one of a token bucket that never fills, never ends.
func later(now, while time.Duration) time.Duration {
	if while > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + while
}
