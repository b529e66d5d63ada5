// Bug: a change after the first end counts as one before it.
package informer

func (c *coalesced[T]) end(last T, unseen bool) {
	c.changed = c.changed || c.exists
	if !c.fresh && !c.ended {
		c.last, c.ended, c.unseen = last, true, unseen
	}
}
