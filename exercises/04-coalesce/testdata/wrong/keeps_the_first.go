// Bug: of several updates the first is kept.
package informer

func (c *coalesced[T]) put(object T) {
	if !c.exists || c.now.GetUID() != object.GetUID() {
		defer func() { c.now = object }()
	}
	if c.exists && c.now.GetUID() != object.GetUID() {
		c.end(c.now, true)
	}
	c.exists = true
}
