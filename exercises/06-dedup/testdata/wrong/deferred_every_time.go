// Bug: each add of an item that a worker holds begins new work, and forgets the add before it.
package workqueue

func (d *dedup[T]) add(e *entry[T], priority int, causes Causes, now time.Duration) verdict {
	if e.processing {
		e.dirty = true
		e.priority, e.causes, e.since = priority, causes, now
		return deferred
	}
	if e.dirty {
		e.causes.merge(causes)
		if priority > e.priority {
			d.order.raise(e, priority)
		}
		return merged
	}
	e.dirty = true
	e.priority, e.causes, e.since = priority, causes, now
	d.order.push(e)
	d.ready++
	return queued
}
