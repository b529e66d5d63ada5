// Bug: done returns nil if the item is worked on once more.
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
		d.order.push(e)
		d.ready++
		return nil
	} else {
		d.forget(e)
	}
	return e
}
