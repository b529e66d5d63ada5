// Bug: an object that is gone is still handed over.
package informer

func (c *coalesced[T]) remove(last T, unseen bool) bool {
	c.end(last, unseen)
	return c.ended
}
