// Bug: done takes the priority for one that was answered.

package workqueue

import "time"

type dedup[T comparable] struct {
	entries table[T]
	line    line[T]
	ready   int
	working list[T]
	held    int

	takenSum time.Duration
}

type entry[T comparable] struct {
	item       T
	hash       uint64
	chain      *entry[T]
	group      string
	dirty      bool
	processing bool
	prev, next *entry[T]

	priority int
	causes   Causes
	since    time.Duration
	taken    time.Duration

	place int
	order uint64
}

type verdict uint8

const (
	queued verdict = iota
	merged
	deferred
)

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

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.line.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}

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
		e.priority = 0
		d.line.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}

func (d *dedup[T]) forget(e *entry[T]) {
	if !e.dirty && !e.processing && e.place == 0 {
		d.entries.remove(e)
	}
}

func (d *dedup[T]) empty() bool { return d.ready == 0 && d.held == 0 }
