// Bug: add pushes an entry before it sets the priority.
package workqueue

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
	if !e.processing {
		d.order.push(e)
		d.ready++
	}
	e.priority, e.causes, e.since = priority, causes, now
	if e.processing {
		return deferred
	}
	return queued
}
