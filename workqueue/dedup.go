package workqueue

import "time"

// dedup is the heart of the queue. It makes three promises:
//
//   - an item that waits already is not put in a second time;
//   - an item that a worker holds is not given to another;
//   - an add that comes while a worker holds the item is not lost: the item is
//     worked on once more, because the worker may have looked before the change.
//
// They follow from two questions about each item. Is there work that no worker
// has seen yet (dirty)? Does a worker hold it (processing)? The line holds the
// items that are dirty and not processing. An item that is neither is unknown.
//
// It is a value without lock, clock or goroutine. client-go keeps two sets, dirty
// and processing; here the two answers stand in one entry of one map.
type dedup[T comparable] struct {
	entries map[T]*entry[T]
	line    line[T] // dirty and not processing
	ready   int     // how many are in the line
	working list[T] // processing, the longest-held first
	held    int     // how many are processing
	// takenSum is the sum of their entries' taken, for the metrics.
	takenSum time.Duration

	spare *entry[T] // entries to use again, chained by next
	peak  int       // the most entries there were at once
}

// entry is all that is known about one item.
type entry[T comparable] struct {
	item       T
	dirty      bool
	processing bool
	prev, next *entry[T] // in the line or in working; an entry is never in both

	// What follows is about the work that nobody has taken yet. From take to the
	// next add, it is about the work that was taken.
	priority int           // the highest that was asked for
	causes   Causes        // of all adds
	since    time.Duration // when the first of them came; 0 if nobody measures
	taken    time.Duration // when a worker took it; 0 if nobody measures
}

// verdict is what became of an add.
type verdict uint8

const (
	queued   verdict = iota // it waits for a worker now
	merged                  // there was work for it already, which nobody has taken
	deferred                // a worker holds it; it will wait again after done
)

// add says that an item needs a look.
func (d *dedup[T]) add(item T, priority int, causes Causes, now time.Duration) verdict {
	e := d.entries[item]
	if e == nil {
		e = d.remember(item)
	}
	if e.dirty {
		e.causes.merge(causes)
		switch {
		case e.processing:
			e.priority = max(e.priority, priority)
		case priority > e.priority:
			d.line.raise(e, priority)
		}
		return merged
	}
	e.dirty = true
	e.priority, e.causes, e.since = priority, causes, now
	if e.processing {
		return deferred
	}
	d.line.push(e)
	d.ready++
	return queued
}

// take hands the next item out. There must be one ready.
func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.line.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}

// done takes an item back. It is nil if no worker held the item. If the entry
// is still dirty, it waits again; otherwise it was forgotten.
func (d *dedup[T]) done(item T) *entry[T] {
	e := d.working.first // with one worker it is this; comparing is cheaper than hashing
	if e == nil || e.item != item {
		if e = d.entries[item]; e == nil || !e.processing {
			return nil
		}
	}
	e.processing = false
	d.working.remove(e)
	d.held--
	d.takenSum -= e.taken
	if e.dirty {
		d.line.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}

// waits is true when there is work that nobody has taken yet.
func (d *dedup[T]) waits(item T) bool {
	e := d.entries[item]
	return e != nil && e.dirty
}

// empty is true when nothing waits and nobody works.
func (d *dedup[T]) empty() bool { return d.ready == 0 && d.held == 0 }

// remember makes an entry, or uses one again.
func (d *dedup[T]) remember(item T) *entry[T] {
	e := d.spare
	if e == nil {
		e = new(entry[T])
	} else {
		d.spare, e.next = e.next, nil
	}
	e.item = item
	if d.entries == nil {
		d.entries = map[T]*entry[T]{}
	}
	d.entries[item] = e
	d.peak = max(d.peak, len(d.entries))
	return e
}

// keepAtMost is for how many items an empty queue holds memory ready.
const keepAtMost = 1 << 15

// forget drops an entry. A queue that once held very many gives all its memory
// back when it is empty; a Go map alone would keep the room for ever.
func (d *dedup[T]) forget(e *entry[T]) {
	delete(d.entries, e.item)
	if len(d.entries) == 0 && d.peak > keepAtMost {
		d.entries, d.spare, d.peak = nil, nil, 0
		return
	}
	var zero T
	e.item, e.causes = zero, Causes{} // let go of their strings
	e.next, d.spare = d.spare, e
}
