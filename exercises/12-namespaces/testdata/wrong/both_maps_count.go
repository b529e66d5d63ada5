// Bug: a kind has the default namespaces and its own.
package cache

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (s settings) scopes(gvk schema.GroupVersionKind, namespaced bool) ([]scope, error) {
	of, named := s.byKind[gvk]
	own := Config{
		LabelSelector: of.Label, FieldSelector: of.Field, Transform: of.Transform,
		UnsafeDisableDeepCopy: of.UnsafeDisableDeepCopy, EnableWatchBookmarks: of.EnableWatchBookmarks, SyncPeriod: of.SyncPeriod,
	}
	if !namespaced && of.Namespaces != nil {
		return nil, fmt.Errorf("ByObject gives %s Namespaces, but objects of this kind are in none", gvk)
	}
	namespaces := s.namespaces
	if named && of.Namespaces != nil {
		namespaces = maps.Clone(s.namespaces)
		if namespaces == nil {
			namespaces = map[string]Config{}
		}
		maps.Copy(namespaces, of.Namespaces)
	}
	if !namespaced || len(namespaces) == 0 {
		return []scope{newScope(AllNamespaces, nil, own.or(s.defaults), namespaced)}, nil
	}
	var scopes []scope
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		config := namespaces[namespace].or(own).or(s.namespaces[namespace]).or(s.defaults)
		scopes = append(scopes, newScope(namespace, namespaces, config, namespaced))
	}
	return scopes, nil
}
