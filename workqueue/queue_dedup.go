package workqueue

import "time"

// dedup is the heart of the queue. It makes three promises:
//
//   - an item that already waits isn't put in a second time;
//   - an item that a worker holds isn't given to another;
//   - an add that comes while a worker holds the item isn't lost: the item is worked on once more,
//     because the worker may have looked before the change.
//
// They follow from two sets. dirty has the items with work that no worker has taken yet; processing
// has the items that workers hold. An item that is dirty and not processing is ready: it waits for
// a worker, in order. client-go's queue has the same three parts.
//
// It's a value without lock, clock or goroutine.
type dedup[T comparable] struct {
	dirty      map[T]*entry[T]
	processing map[T]*entry[T]
	order      readyOrder[T] // dirty and not processing
	ready      int           // how many of those there are
}

// entry is one piece of work: all adds of an item that come before a worker takes it.
type entry[T comparable] struct {
	item     T
	group    string        // whose turn it takes in a priority queue
	priority int           // the highest of all adds
	causes   Causes        // of all adds
	since    time.Duration // when the first of them came; 0 if times aren't measured
	taken    time.Duration // when a worker took it; 0 if times aren't measured

	prev, next *entry[T] // in its order, while it's ready
}

// verdict is the result of an add.
type verdict uint8

const (
	queued   verdict = iota // it waits for a worker now
	merged                  // there was already work for it that no worker has taken
	deferred                // a worker holds it; it will wait again after done
)

func newDedup[T comparable](order readyOrder[T]) dedup[T] {
	return dedup[T]{dirty: map[T]*entry[T]{}, processing: map[T]*entry[T]{}, order: order}
}

// add says that an item needs work. If the item can't be the key of a map, add panics and changes
// nothing.
func (d *dedup[T]) add(
	item T, group string, priority int, causes Causes, now time.Duration,
) verdict {
	if e := d.dirty[item]; e != nil {
		e.causes.merge(causes)
		switch {
		case priority <= e.priority:
		case d.processing[item] != nil:
			e.priority = priority
		default:
			d.order.raise(e, priority)
		}
		return merged
	}
	e := &entry[T]{item: item, group: group, priority: priority, causes: causes, since: now}
	d.dirty[item] = e
	if d.processing[item] != nil {
		return deferred
	}
	d.push(e)
	return queued
}

func (d *dedup[T]) push(e *entry[T]) {
	d.order.push(e)
	d.ready++
}

// take hands out the next item. There must be one ready.
func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	delete(d.dirty, e.item)
	d.processing[e.item] = e
	e.taken = now
	return e
}

// done ends the work on an item, and returns it, or nil if no worker held it. If the item was added
// meanwhile, it's ready again.
func (d *dedup[T]) done(item T) *entry[T] {
	e := d.processing[item]
	if e == nil {
		return nil
	}
	delete(d.processing, item)
	if again := d.dirty[item]; again != nil {
		d.push(again)
	}
	return e
}

// empty returns true if no item waits and no worker holds one.
func (d *dedup[T]) empty() bool { return len(d.dirty) == 0 && len(d.processing) == 0 }

// readyOrder decides in which order ready items are handed out. Its methods are called with the
// queue's lock held. A queue that is first in, first out has a fifo; the priority queue has its
// own.
type readyOrder[T comparable] interface {
	// push adds an entry that isn't in it.
	push(e *entry[T])
	// pop removes the next entry. There is one: the queue counts them.
	pop() *entry[T]
	// raise is called when a waiting entry is added again with a priority that is higher than its
	// own. It sets the priority and moves the entry.
	raise(e *entry[T], priority int)
}

// fifo hands entries out in the order of adding. To it, a priority is only a number that travels
// with the entry.
//
// It's a list whose links are in the entries, so an entry that is raised can leave from the middle.
// client-go appends to a slice and cuts off its head.
type fifo[T comparable] struct{ first, last *entry[T] }

func (f *fifo[T]) push(e *entry[T]) {
	e.prev, e.next = f.last, nil
	if f.last == nil {
		f.first = e
	} else {
		f.last.next = e
	}
	f.last = e
}

func (f *fifo[T]) pop() *entry[T] {
	e := f.first
	f.remove(e)
	return e
}

func (f *fifo[T]) remove(e *entry[T]) {
	if e.prev == nil {
		f.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		f.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}

func (f *fifo[T]) raise(e *entry[T], priority int) { e.priority = priority }
