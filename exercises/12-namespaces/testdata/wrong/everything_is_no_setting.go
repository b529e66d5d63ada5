// Bug: a selector of everything is taken for one that is not set.
package cache

import "cmp"

func (c Config) or(next Config) Config {
	if c.LabelSelector == nil || c.LabelSelector.Empty() {
		c.LabelSelector = next.LabelSelector
	}
	if c.FieldSelector == nil || c.FieldSelector.Empty() {
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
