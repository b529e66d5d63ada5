// Bug: take does not note when the worker took the item.
package workqueue

import "time"

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.processing = false, true
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}
