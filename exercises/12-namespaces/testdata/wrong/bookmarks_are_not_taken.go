// Bug: the setting of bookmarks is not taken over.
package cache

import "cmp"

func (c Config) or(next Config) Config {
	if c.LabelSelector == nil {
		c.LabelSelector = next.LabelSelector
	}
	if c.FieldSelector == nil {
		c.FieldSelector = next.FieldSelector
	}
	if c.Transform == nil {
		c.Transform = next.Transform
	}
	c.UnsafeDisableDeepCopy = cmp.Or(c.UnsafeDisableDeepCopy, next.UnsafeDisableDeepCopy)
	c.SyncPeriod = cmp.Or(c.SyncPeriod, next.SyncPeriod)
	return c
}
