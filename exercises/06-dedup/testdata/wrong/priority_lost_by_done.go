// Bug: done clears the priority, as if the work had been done.
package workqueue

func (d *dedup[T]) done(item T, hash uint64) *entry[T] {
	e := d.entries.find(item, hash)
	if e == nil || !e.processing {
		return nil
	}
	e.processing = false
	d.working.remove(e)
	d.held--
	d.takenSum -= e.taken
	if e.dirty {
		e.priority = 0
		d.order.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}
