// Bug: take does not count what workers hold.
package workqueue

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	d.working.append(e)
	d.takenSum += now
	return e
}
