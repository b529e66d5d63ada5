// Bug: done leaves the item in the list of those that workers hold.
package workqueue

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
