// Bug: done does not ask whether a worker holds the item.
package workqueue

func (d *dedup[T]) done(item T, hash uint64) *entry[T] {
	e := d.entries.find(item, hash)
	if e == nil {
		return nil
	}
	if e.processing {
		d.working.remove(e)
		d.held--
		d.takenSum -= e.taken
	}
	e.processing = false
	if e.dirty {
		d.order.push(e)
		d.ready++
	} else {
		d.forget(e)
	}
	return e
}
