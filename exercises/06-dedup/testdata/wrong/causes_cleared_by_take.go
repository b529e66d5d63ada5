// Bug: take clears the causes before the worker has read them.
package workqueue

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	e.causes, e.priority = Causes{}, 0
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}
