// Bug: a later delay puts an item off.

package workqueue

import (
	"math"
	"time"
)

type delays[T comparable] struct {
	heap  []due[T]
	known map[T]*delay[T]
	order uint64
	spare *delay[T]
	peak  int
}

type due[T comparable] struct {
	at    time.Duration
	delay *delay[T]
}

type delay[T comparable] struct {
	item     T
	place    int
	order    uint64
	priority int
	causes   Causes
	next     *delay[T]
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
	if at == place.at {
		return kept
	}
	place.at = at
	d.up(known.place)
	d.down(known.place)
	return moved
}

func (d *delays[T]) next() (at time.Duration, ok bool) {
	if len(d.heap) == 0 {
		return 0, false
	}
	return d.heap[0].at, true
}

func (d *delays[T]) until(item T) time.Duration { return d.heap[d.known[item].place].at }

func (d *delays[T]) pop(now time.Duration) (w delay[T], ok bool) {
	if at, ok := d.next(); !ok || at > now {
		return w, false
	}
	return d.take(d.heap[0].delay), true
}

func (d *delays[T]) remove(item T) (w delay[T], ok bool) {
	if known := d.known[item]; known != nil {
		return d.take(known), true
	}
	return w, false
}

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
	return a.at < b.at || a.at == b.at && a.delay.order < b.delay.order
}

func (d *delays[T]) put(place int, w due[T]) {
	d.heap[place] = w
	w.delay.place = place
}

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

func later(now, while time.Duration) time.Duration {
	if while > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + while
}
