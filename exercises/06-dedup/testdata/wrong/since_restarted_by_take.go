// Bug: take sets since, so that an item seems never to have waited.
package workqueue

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	e.since = now
	d.working.append(e)
	d.held++
	d.takenSum += now
	return e
}
