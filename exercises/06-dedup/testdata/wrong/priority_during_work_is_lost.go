// Bug: the priority of a second add that comes while a worker holds the item is lost.
package workqueue

func (d *dedup[T]) add(e *entry[T], priority int, causes Causes, now time.Duration) verdict {
	if e.dirty {
		e.causes.merge(causes)
		if !e.processing && priority > e.priority {
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
