// Bug: done puts the item back without counting it as ready.
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
	} else {
		d.forget(e)
	}
	return e
}
