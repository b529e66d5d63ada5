// Bug: done clears dirty, though the item waits for its next worker.
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
		e.dirty = false
		d.order.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}
