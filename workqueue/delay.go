package workqueue

import (
	"math"
	"time"
)

// delays remembers items that are to be added later, and which is due first. It
// holds at most one delay for each item.
//
// It is a value without lock, clock or timer: moments are durations since the
// queue was made, and come in as arguments.
//
// The delays lie in a heap in which each has up to four below it, none of which
// is due before it. Four, not two, because the heap of a million is then ten
// levels deep instead of twenty, and four neighbours share a cache line. The
// moments are kept beside the pointers, so that a comparison follows no pointer.
//
// Source: D. B. Johnson, Priority queues with update and finding minimum
// spanning trees, 1975 (the d-ary heap).
type delays[T comparable] struct {
	heap  []due[T]
	known map[T]*delay[T]
	order uint64 // the number of the newest delay
	spare *delay[T]
	peak  int
}

// due is a place in the heap.
type due[T comparable] struct {
	at    time.Duration
	delay *delay[T]
}

// delay is an item that waits for its moment, and what it will be added with.
type delay[T comparable] struct {
	item     T
	place    int    // in the heap
	order    uint64 // of two that are due at the same moment, the older comes first
	priority int
	causes   Causes
	next     *delay[T] // the next spare one
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
func (d *delays[T]) add(item T, at time.Duration, w wish) change {
	known := d.known[item]
	if known == nil {
		known = d.remember(item)
		known.priority, known.causes = w.priority, w.causes
		known.place = len(d.heap)
		d.order++
		known.order = d.order
		d.heap = append(d.heap, due[T]{at, known})
		d.up(known.place)
		return fresh
	}
	known.priority = max(known.priority, w.priority)
	known.causes.merge(w.causes)
	place := &d.heap[known.place]
	if at == place.at || at > place.at && !w.replace {
		return kept
	}
	place.at = at
	d.up(known.place)
	d.down(known.place)
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
func (d *delays[T]) until(item T) time.Duration { return d.heap[d.known[item].place].at }

// pop takes out an item that is due by now; false if there is none.
func (d *delays[T]) pop(now time.Duration) (w delay[T], ok bool) {
	if at, ok := d.next(); !ok || at > now {
		return w, false
	}
	return d.take(d.heap[0].delay), true
}

// remove takes an item out, due or not; false if it has no delay.
func (d *delays[T]) remove(item T) (w delay[T], ok bool) {
	if known := d.known[item]; known != nil {
		return d.take(known), true
	}
	return w, false
}

// take closes the hole in the heap with its last.
func (d *delays[T]) take(w *delay[T]) delay[T] {
	taken, last := *w, len(d.heap)-1
	if hole := w.place; hole != last {
		d.put(hole, d.heap[last])
		d.heap[last] = due[T]{}
		d.heap = d.heap[:last]
		d.up(hole)
		d.down(hole)
	} else {
		d.heap[last] = due[T]{}
		d.heap = d.heap[:last]
	}
	d.forget(w)
	return taken
}

const children = 4

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
	return a.at < b.at || a.at == b.at && a.delay.order < b.delay.order
}

func (d *delays[T]) put(place int, w due[T]) {
	d.heap[place] = w
	w.delay.place = place
}

// remember and forget handle memory as the dedup's do, but in blocks: after an
// outage a million items may be put off within a second.
func (d *delays[T]) remember(item T) *delay[T] {
	if d.spare == nil {
		block := make([]delay[T], max(1, min(len(d.known), 128)))
		for i := range block {
			block[i].next, d.spare = d.spare, &block[i]
		}
	}
	w := d.spare
	d.spare, w.next = w.next, nil
	w.item = item
	if d.known == nil {
		d.known = map[T]*delay[T]{}
	}
	d.known[item] = w
	d.peak = max(d.peak, len(d.known))
	return w
}

func (d *delays[T]) forget(w *delay[T]) {
	delete(d.known, w.item)
	if len(d.known) == 0 && d.peak > keepAtMost {
		*d = delays[T]{order: d.order}
		return
	}
	*w = delay[T]{next: d.spare}
	d.spare = w
}

// later is the moment that is a while after now. A delay that is too long to
// count, such as the one of a token bucket that never fills, ends never.
func later(now, while time.Duration) time.Duration {
	if while > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + while
}
