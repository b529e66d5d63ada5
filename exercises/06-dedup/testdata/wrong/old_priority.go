// Bug: the priority of work that was taken stays if it is higher than that of the next.
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
	e.priority, e.causes, e.since = max(e.priority, priority), causes, now
	if e.processing {
		return deferred
	}
	d.order.push(e)
	d.ready++
	return queued
}
