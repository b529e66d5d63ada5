// Bug: add answers queued for an item that a worker holds.
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
	e.priority, e.causes, e.since = priority, causes, now
	if e.processing {
		return queued
	}
	d.order.push(e)
	d.ready++
	return queued
}
