// Bug: takenSum is never kept.
package workqueue

import "time"

func (d *dedup[T]) take(now time.Duration) *entry[T] {
	e := d.order.pop()
	d.ready--
	e.dirty, e.processing, e.taken = false, true, now
	d.working.append(e)
	d.held++
	return e
}

func (d *dedup[T]) done(item T, hash uint64) *entry[T] {
	e := d.entries.find(item, hash)
	if e == nil || !e.processing {
		return nil
	}
	e.processing = false
	d.working.remove(e)
	d.held--
	if e.dirty {
		d.order.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}
