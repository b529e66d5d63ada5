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
// and processing; here the two answers stand in one entry of one table.
type dedup[T comparable] struct {
	entries table[T]
	line    line[T] // dirty and not processing
	ready   int     // how many are in the line
	working list[T] // processing, the longest-held first
	held    int     // how many are processing
	// takenSum is the sum of their entries' taken, for the metrics.
	takenSum time.Duration
}

// entry is all that is known about one item.
type entry[T comparable] struct {
	item       T
	hash       uint64    // of the item
	chain      *entry[T] // the next in the table's bucket
	group      string    // chapter 9 has groups of items that take turns
	dirty      bool
	processing bool
	prev, next *entry[T] // in the line or in working; an entry is never in both

	// What follows is about the work that nobody has taken yet. From take to the
	// next add, it is about the work that was taken.
	priority int           // the highest that was asked for
	causes   Causes        // of all adds
	since    time.Duration // when the first of them came; 0 if nobody measures
	taken    time.Duration // when a worker took it; 0 if nobody measures

	// Chapter 7 puts off work whose time has not come. It is not dirty before that.
	place int    // where it is among the delays, counted from 1; 0 if it has none
	order uint64 // of two that are due at the same moment, the lower comes first
}

// verdict is what became of an add.
type verdict uint8

const (
	queued   verdict = iota // it waits for a worker now
	merged                  // there was work for it already, which nobody has taken
	deferred                // a worker holds it; it will wait again after done
)

// add says that the item of an entry needs a look.
func (d *dedup[T]) add(e *entry[T], priority int, causes Causes, now time.Duration) verdict {
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
func (d *dedup[T]) done(item T, hash uint64) *entry[T] {
	e := d.entries.find(item, hash)
	if e == nil || !e.processing {
		return nil
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

// forget drops the entry of an item, unless there is still something to do.
func (d *dedup[T]) forget(e *entry[T]) {
	if !e.dirty && !e.processing && e.place == 0 {
		d.entries.remove(e)
	}
}

// empty is true when nothing waits and nobody works.
func (d *dedup[T]) empty() bool { return d.ready == 0 && d.held == 0 }
