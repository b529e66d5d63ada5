package workqueue

import (
	"math"
	"time"
)

// delays knows which items are to be added later, and which of them is due first. An
// item has one delay at most, and none while it is dirty: its work is due by then.
//
// It is a value without lock, clock or timer: moments are durations since the
// queue was made, and come in as arguments.
//
// The items lie in a heap in which each has up to four below it, none of which
// is due before it. Four, not two, because the heap of a million is then ten
// levels deep instead of twenty, and the four are neighbours in memory. The moments are
// kept beside the pointers, so that a comparison follows no pointer.
//
// Source: D. B. Johnson, Priority queues with update and finding minimum
// spanning trees, 1975 (the d-ary heap).
type delays[T comparable] struct {
	heap  []due[T]
	order uint64 // the number of the newest delay
}

// due is a place in the heap. The entry, chapter 6's, says what the item will be
// added with.
type due[T comparable] struct {
	at    time.Duration
	entry *entry[T]
}

// wish is all that can be asked for an item.
type wish struct {
	after    time.Duration // zero or less is now
	replace  bool          // after wins even over an earlier moment
	priority int           // chapter 9 asks for one
	causes   Causes
	failures int // how often the item failed, for the recorder; chapter 8 knows
}

// change is what became of a wish for a delay.
type change uint8

const (
	fresh change = iota // the item had no delay
	moved               // it had one, and is due at another moment now
	kept                // it had one, and that stands
)

// add asks for an item at a moment. If the item has a delay already, the earlier
// moment wins, the higher priority, and the causes of both; unless w.replace is
// set: then the new moment wins.
func (d *delays[T]) add(e *entry[T], at time.Duration, w wish) change {
	if e.place == 0 {
		e.priority, e.causes = w.priority, w.causes
		d.order++
		e.order = d.order
		d.heap = append(d.heap, due[T]{at, e})
		d.up(len(d.heap) - 1)
		return fresh
	}
	e.priority = max(e.priority, w.priority)
	e.causes.merge(w.causes)
	moment := &d.heap[e.place-1].at
	if at == *moment || at > *moment && !w.replace {
		return kept
	}
	*moment = at
	d.settle(e.place - 1)
	return moved
}

// next is when the first item is due; false if there is none.
func (d *delays[T]) next() (at time.Duration, ok bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].at, true
}

// until is when an item is due that has a delay.
func (d *delays[T]) until(e *entry[T]) time.Duration { return d.heap[e.place-1].at }

// pop takes out an item that is due by now; nil if there is none.
func (d *delays[T]) pop(now time.Duration) *entry[T] {
	if at, ok := d.next(); !ok || at > now {
		return nil
	}
	e := d.heap[0].entry
	d.take(e)
	return e
}

// take takes an item out, due or not, and closes the hole in the heap with its last.
func (d *delays[T]) take(e *entry[T]) {
	hole, last := e.place-1, len(d.heap)-1
	e.place = 0
	moving := d.heap[last]
	d.heap[last] = due[T]{}
	d.heap = d.heap[:last]
	if hole != last {
		d.put(hole, moving)
		d.settle(hole)
	}
	if small := cap(d.heap) / 2; last < small/2 && small >= keepAtMost {
		d.heap = append(make([]due[T], 0, small), d.heap...) // gives memory back
	}
}

const children = 4

// settle moves what is at a place to where it belongs. It moves in one direction at
// most.
func (d *delays[T]) settle(place int) {
	e := d.heap[place].entry
	d.up(place)
	d.down(e.place - 1)
}

// up moves what is at a place towards the front while it is due before the one
// above it.
func (d *delays[T]) up(place int) {
	moving := d.heap[place]
	for place > 0 {
		above := (place - 1) / children
		if !moving.before(d.heap[above]) {
			break
		}
		d.put(place, d.heap[above])
		place = above
	}
	d.put(place, moving)
}

// down moves what is at a place towards the end while one below is due before it.
func (d *delays[T]) down(place int) {
	moving := d.heap[place]
	for {
		first := place*children + 1
		if first >= len(d.heap) {
			break
		}
		least := first
		for below := first + 1; below < min(first+children, len(d.heap)); below++ {
			if d.heap[below].before(d.heap[least]) {
				least = below
			}
		}
		if !d.heap[least].before(moving) {
			break
		}
		d.put(place, d.heap[least])
		place = least
	}
	d.put(place, moving)
}

func (a due[T]) before(b due[T]) bool {
	return a.at < b.at || a.at == b.at && a.entry.order < b.entry.order
}

func (d *delays[T]) put(place int, w due[T]) {
	d.heap[place] = w
	w.entry.place = place + 1
}

// later is the moment that is a while after now. A delay that is too long to
// count, such as the one of a token bucket that never fills, ends never.
func later(now, while time.Duration) time.Duration {
	if while > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + while
}
