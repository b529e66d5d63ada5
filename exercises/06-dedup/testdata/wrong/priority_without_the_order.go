// Bug: a higher priority is noted, and order is not told.
package workqueue

import "time"

func (d *dedup[T]) add(e *entry[T], priority int, causes Causes, now time.Duration) verdict {
	if e.dirty {
		e.causes.merge(causes)
		e.priority = max(e.priority, priority)
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
