// Bug: the selector of labels is not taken over.
package cache

import "cmp"

func (c Config) or(next Config) Config {
	if c.FieldSelector == nil {
		c.FieldSelector = next.FieldSelector
	}
	if c.Transform == nil {
		c.Transform = next.Transform
	}
	c.UnsafeDisableDeepCopy = cmp.Or(c.UnsafeDisableDeepCopy, next.UnsafeDisableDeepCopy)
	c.EnableWatchBookmarks = cmp.Or(c.EnableWatchBookmarks, next.EnableWatchBookmarks)
	c.SyncPeriod = cmp.Or(c.SyncPeriod, next.SyncPeriod)
	return c
}
