// Bug: an object that came and went is kept, to be reported.
package informer

func (c *coalesced[T]) end(last T, unseen bool) {
	if !c.ended {
		c.last, c.ended, c.unseen, c.changed = last, true, unseen, c.exists
	}
}
