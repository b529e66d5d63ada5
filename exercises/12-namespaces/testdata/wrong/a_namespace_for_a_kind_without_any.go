// Bug: a kind without namespaces is read from one.
package cache

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
)

func newScope(namespace string, others map[string]Config, config Config, namespaced bool) scope {
	s := scope{
		namespace: namespace, watched: namespace, label: config.LabelSelector, field: config.FieldSelector,
		transform: config.Transform, bookmarks: true, resyncs: defaultSyncPeriod,
	}
	if config.UnsafeDisableDeepCopy != nil {
		s.zeroCopy = *config.UnsafeDisableDeepCopy
	}
	if config.EnableWatchBookmarks != nil {
		s.bookmarks = *config.EnableWatchBookmarks
	}
	if config.SyncPeriod != nil {
		s.resyncs = *config.SyncPeriod
	}
	if matchesNothing(s.label, s.field) {
		s.label, s.field = neverThere, nil
		return s
	}
	if namespace != AllNamespaces {
		return s
	}
	if s.field != nil {
		// A selector of one namespace works without the right to read them all.
		s.watched, _ = s.field.RequiresExactMatch("metadata.namespace")
	}
	var rest []fields.Selector
	for _, other := range slices.Sorted(maps.Keys(others)) {
		if other != AllNamespaces {
			rest = append(rest, fields.OneTermNotEqualSelector("metadata.namespace", other))
		}
	}
	if len(rest) == 0 {
		return s
	}
	if s.field != nil && !s.field.Empty() {
		rest = append(rest, s.field)
	}
	s.field = fields.AndSelectors(rest...)
	return s
}
