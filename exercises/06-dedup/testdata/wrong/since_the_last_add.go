// Bug: an add that is merged starts the wait over.
package workqueue

import "time"

func (d *dedup[T]) add(e *entry[T], priority int, causes Causes, now time.Duration) verdict {
	if e.dirty {
		e.causes.merge(causes)
		e.since = now
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
