// Bug: take leaves the item dirty, so it is worked on forever.
package workqueue

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.processing, e.taken = true, now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}
