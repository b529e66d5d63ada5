// Bug: what workers hold is counted, but is not in the list working.
package workqueue

import "time"

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	d.held++
	d.takenSum += now
	return e
}

func (d *dedup[T]) done(item T, hash uint64) *entry[T] {
	e := d.entries.find(item, hash)
	if e == nil || !e.processing {
		return nil
	}
	e.processing = false
	d.held--
	d.takenSum -= e.taken
	if e.dirty {
		d.order.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}
