// Bug: the end of an object that only the UID proves counts as seen.
package informer

func (c *coalesced[T]) put(object T) {
	if c.exists && c.now.GetUID() != object.GetUID() {
		c.end(c.now, false)
	}
	c.now, c.exists = object, true
}
