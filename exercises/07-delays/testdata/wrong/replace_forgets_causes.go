// Bug: who replaces a delay drops its causes.

package workqueue

import (
	"math"
	"time"
)

type delays[T comparable] struct {
	heap  []due[T]
	order uint64
}

type due[T comparable] struct {
	at    time.Duration
	entry *entry[T]
}

type wish struct {
	after    time.Duration
	replace  bool
	priority int
	causes   Causes
	failures int
}

type change uint8

const (
	fresh change = iota
	moved
	kept
)

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
	if w.replace {
		e.causes = w.causes
	} else {
		e.causes.merge(w.causes)
	}
	moment := &d.heap[e.place-1].at
	if at == *moment || at > *moment && !w.replace {
		return kept
	}
	*moment = at
	d.settle(e.place - 1)
	return moved
}

func (d *delays[T]) next() (at time.Duration, ok bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].at, true
}

func (d *delays[T]) until(e *entry[T]) time.Duration { return d.heap[e.place-1].at }

func (d *delays[T]) pop(now time.Duration) *entry[T] {
	if at, ok := d.next(); !ok || at > now {
		return nil
	}
	e := d.heap[0].entry
	d.take(e)
	return e
}

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
		d.heap = append(make([]due[T], 0, small), d.heap...)
	}
}

const children = 4

func (d *delays[T]) settle(place int) {
	e := d.heap[place].entry
	d.up(place)
	d.down(e.place - 1)
}

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

func later(now, while time.Duration) time.Duration {
	if while > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + while
}
