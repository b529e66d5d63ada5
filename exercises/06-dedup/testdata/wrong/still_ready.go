// Bug: take does not count the item out of those that are ready.
package workqueue

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	e.dirty, e.processing, e.taken = false, true, now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}
