// Bug: when the second object goes unseen, the end of the first is marked as unseen.
package informer

func (c *coalesced[T]) remove(last T, unseen bool) bool {
	c.end(last, unseen)
	c.unseen = unseen
	var none T
	c.now, c.exists = none, false
	return c.ended
}
