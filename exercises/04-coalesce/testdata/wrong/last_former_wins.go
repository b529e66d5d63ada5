// Bug: a third object of the name makes the second one the one that the consumer may have.
package informer

func (c *coalesced[T]) end(last T, unseen bool) {
	if !c.fresh {
		c.last, c.ended, c.unseen, c.changed = last, true, unseen, c.exists
	}
}
