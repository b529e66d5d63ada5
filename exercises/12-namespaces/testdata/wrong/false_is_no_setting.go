// Bug: false is taken for a setting that is open.
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
	if c.UnsafeDisableDeepCopy == nil || !*c.UnsafeDisableDeepCopy {
		c.UnsafeDisableDeepCopy = cmp.Or(next.UnsafeDisableDeepCopy, c.UnsafeDisableDeepCopy)
	}
	c.EnableWatchBookmarks = cmp.Or(c.EnableWatchBookmarks, next.EnableWatchBookmarks)
	c.SyncPeriod = cmp.Or(c.SyncPeriod, next.SyncPeriod)
	return c
}
