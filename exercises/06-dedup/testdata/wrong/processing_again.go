// Bug: done leaves processing set when the item goes back.
package workqueue

func (d *dedup[T]) done(item T, hash uint64) *entry[T] {
	e := d.entries.find(item, hash)
	if e == nil || !e.processing {
		return nil
	}
	d.working.remove(e)
	d.held--
	d.takenSum -= e.taken
	if e.dirty {
		d.order.push(e)
		d.ready++
	} else {
		e.processing = false
		d.forget(e)
	}
	return e
}
