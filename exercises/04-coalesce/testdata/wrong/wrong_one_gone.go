// Bug: of two objects of one name, the end of the second is reported.
package informer

func (c *coalesced[T]) remove(last T, unseen bool) bool {
	if !c.fresh {
		c.last, c.ended, c.unseen, c.changed = last, true, unseen, c.exists
	}
	var none T
	c.now, c.exists = none, false
	return c.ended
}
