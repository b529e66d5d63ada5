// Bug: an item that waits moves to the end when it is added again.
package workqueue

import "time"

func (d *dedup[T]) add(e *entry[T], priority int, causes Causes, now time.Duration) verdict {
	if e.dirty {
		e.causes.merge(causes)
		switch {
		case e.processing:
			e.priority = max(e.priority, priority)
		case priority > e.priority:
			d.order.raise(e, priority)
		default:
			d.order.(interface{ remove(*entry[T]) }).remove(e)
			d.order.push(e)
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
