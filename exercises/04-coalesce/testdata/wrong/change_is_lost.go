// Bug: a change before the end is not told.
package informer

func (c *coalesced[T]) end(last T, unseen bool) {
	if !c.fresh && !c.ended {
		c.last, c.ended, c.unseen = last, true, unseen
	}
}
