// Bug: done without a worker forgets an item that waits.
package workqueue

func (d *dedup[T]) done(item T, hash uint64) *entry[T] {
	e := d.entries.find(item, hash)
	if e == nil {
		return nil
	}
	if !e.processing {
		d.forget(e)
		return nil
	}
	e.processing = false
	d.working.remove(e)
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
