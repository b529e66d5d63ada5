// Bug: take does not note that a worker holds the item now.
package workqueue

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.taken = false, now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}
