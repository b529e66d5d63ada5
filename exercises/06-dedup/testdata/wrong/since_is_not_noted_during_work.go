// Bug: new work that comes while a worker holds the item keeps the moment of the old work.
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
	e.priority, e.causes = priority, causes
	if e.processing {
		return deferred
	}
	e.since = now
	d.order.push(e)
	d.ready++
	return queued
}
