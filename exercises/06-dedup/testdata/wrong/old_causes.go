// Bug: the causes of work that was taken travel with the next work, too.

package workqueue

import "time"

type dedup[T comparable] struct {
	entries  map[T]*entry[T]
	line     line[T]
	ready    int
	working  list[T]
	held     int
	takenSum time.Duration

	spare *entry[T]
	peak  int
}

type entry[T comparable] struct {
	item       T
	dirty      bool
	processing bool
	prev, next *entry[T]

	priority int
	causes   Causes
	since    time.Duration
	taken    time.Duration
}

type verdict uint8

const (
	queued verdict = iota
	merged
	deferred
)

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
	e.priority, e.since = priority, now
	e.causes.merge(causes)
	if e.processing {
		return deferred
	}
	d.line.push(e)
	d.ready++
	return queued
}

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.line.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}

func (d *dedup[T]) done(item T) *entry[T] {
	e := d.working.first
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

func (d *dedup[T]) waits(item T) bool {
	e := d.entries[item]
	return e != nil && e.dirty
}

func (d *dedup[T]) empty() bool { return d.ready == 0 && d.held == 0 }

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

const keepAtMost = 1 << 15

func (d *dedup[T]) forget(e *entry[T]) {
	delete(d.entries, e.item)
	if len(d.entries) == 0 && d.peak > keepAtMost {
		d.entries, d.spare, d.peak = nil, nil, 0
		return
	}
	var zero T
	e.item, e.causes = zero, Causes{}
	e.next, d.spare = d.spare, e
}
