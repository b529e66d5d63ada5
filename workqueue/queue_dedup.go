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
// has seen yet (dirty)? Does a worker hold it (processing)? An item that is dirty and
// not processing is ready: it waits for a worker. An item that is neither has no entry.
//
// It is a value without lock, clock or goroutine. client-go keeps two sets, dirty
// and processing; here the two answers are in one entry of one table.
type dedup[T comparable] struct {
	entries entryTable[T]
	order   readyOrder[T] // dirty and not processing
	ready   int           // how many of those there are
	working entryList[T]  // processing, the longest-held first
	held    int           // how many are processing
	// takenSum is the sum of their entries' taken, for the metrics.
	takenSum time.Duration
}

// entryTable finds the entry of an item.
type entryTable[T comparable] = itemTable[T, entry[T], *entry[T]]

// entry is all that the queue knows about one item.
type entry[T comparable] struct {
	tableKey[T, entry[T]]        // has the item and its hash
	group                 string // of items that take turns in a priority queue
	dirty                 bool
	processing            bool
	prev, next            *entry[T] // among the ready ones or in working; an entry is never in both

	// What follows is about the work that nobody has taken yet. From take to the
	// next add, it is about the work that was taken.
	priority int           // the highest of all adds
	causes   Causes        // of all adds
	since    time.Duration // when the first of them came; 0 if times are not measured
	taken    time.Duration // when a worker took it; 0 if times are not measured
}

// verdict is what became of an add.
type verdict uint8

const (
	queued   verdict = iota // it waits for a worker now
	merged                  // there was work for it already, which nobody has taken
	deferred                // a worker holds it; it will wait again after done
)

// entryOf returns the item's entry. If the item has none, it makes one, in a group.
func (d *dedup[T]) entryOf(item T, hash uint64, group string) *entry[T] {
	e := d.entries.of(item, hash)
	if !e.dirty && !e.processing { // it is a new one
		e.group = group
	}
	return e
}

// add says that the item of an entry needs a look.
func (d *dedup[T]) add(e *entry[T], priority int, causes Causes, now time.Duration) verdict {
	if e.dirty {
		e.causes.merge(causes)
		switch {
		case e.processing:
			e.priority = max(e.priority, priority)
		case priority > e.priority:
			d.order.raise(e, priority)
		}
		return merged
	}
	e.dirty = true
	e.priority, e.causes, e.since = priority, causes, now
	if e.processing {
		return deferred
	}
	d.order.push(e)
	d.ready++
	return queued
}

// take hands the next item out. There must be one ready.
func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}

// done ends the work on an item. It returns nil if no worker held the item. If the entry
// is still dirty, it is ready again; otherwise it is forgotten.
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
		d.order.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}

// forget removes the entry of an item that is neither dirty nor processing.
func (d *dedup[T]) forget(e *entry[T]) {
	e.group, e.causes = "", Causes{} // their strings need not stay in memory
	d.entries.remove(e)
}

// empty returns true if nothing waits and no worker holds anything.
func (d *dedup[T]) empty() bool { return d.ready == 0 && d.held == 0 }
