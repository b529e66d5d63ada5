package fake

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RESTMapping implements meta.RESTMapper. There's a mapping for every kind.
func (ks *kinds) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) == 0 {
		for _, gv := range ks.scheme.VersionsForGroupKind(gk) {
			versions = append(versions, gv.Version)
		}
	}
	if len(versions) == 0 || versions[0] == "" {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	gvk := gk.WithVersion(versions[0])
	ks.mu.Lock()
	defer ks.mu.Unlock()
	k := ks.findLocked(gvk)
	return &meta.RESTMapping{Resource: k.gvr(), GroupVersionKind: gvk, Scope: &k.scope}, nil
}

// RESTMappings implements meta.RESTMapper.
func (ks *kinds) RESTMappings(
	gk schema.GroupKind, versions ...string,
) ([]*meta.RESTMapping, error) {
	if len(versions) == 0 {
		first, err := ks.RESTMapping(gk)
		return []*meta.RESTMapping{first}, err
	}
	var out []*meta.RESTMapping
	for _, version := range versions {
		mapping, err := ks.RESTMapping(gk, version)
		if err != nil {
			return nil, err
		}
		out = append(out, mapping)
	}
	return out, nil
}

// KindFor implements meta.RESTMapper, as the following methods do.
func (ks *kinds) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return ks.all().KindFor(resource)
}

// KindsFor implements meta.RESTMapper.
func (ks *kinds) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return ks.all().KindsFor(resource)
}

// ResourceFor implements meta.RESTMapper.
func (ks *kinds) ResourceFor(
	input schema.GroupVersionResource,
) (schema.GroupVersionResource, error) {
	return ks.all().ResourceFor(input)
}

// ResourcesFor implements meta.RESTMapper.
func (ks *kinds) ResourcesFor(
	input schema.GroupVersionResource,
) ([]schema.GroupVersionResource, error) {
	return ks.all().ResourcesFor(input)
}

// ResourceSingularizer implements meta.RESTMapper.
func (ks *kinds) ResourceSingularizer(resource string) (string, error) {
	return ks.all().ResourceSingularizer(resource)
}

// String implements fmt.Stringer.
func (ks *kinds) String() string {
	return fmt.Sprintf("the kinds of a fake client, %d met", len(ks.met))
}

// all returns a mapper of all kinds of the scheme, and of those that were met. It's made again for
// every call that starts from a resource, because these are rare.
//
// If a resource has several kinds, it prefers the core group and the newest version.
func (ks *kinds) all() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	ks.mu.Lock()
	defer ks.mu.Unlock()
	for gvk := range ks.scheme.AllKnownTypes() {
		if ks.isObject(gvk) {
			ks.findLocked(gvk)
		}
	}
	for gvk, k := range ks.met {
		mapper.AddSpecific(gvk, k.gvr(), schema.GroupVersionResource{Group: gvk.Group,
			Version: gvk.Version, Resource: singular(gvk)}, &k.scope)
	}
	out := meta.PriorityRESTMapper{Delegate: mapper}
	for _, group := range ks.groupsLocked() {
		for _, gv := range ks.scheme.PrioritizedVersionsForGroup(group) {
			out.ResourcePriority = append(out.ResourcePriority, gv.WithResource(meta.AnyResource))
			out.KindPriority = append(out.KindPriority, gv.WithKind(meta.AnyKind))
		}
	}
	return out
}

// groupsLocked returns the groups, sorted by name. No server has extensions any more.
func (ks *kinds) groupsLocked() []string {
	seen := map[string]bool{}
	for gvk := range ks.met {
		seen[gvk.Group] = true
	}
	delete(seen, "extensions")
	return append(slices.Sorted(maps.Keys(seen)), "extensions")
}

func singular(gvk schema.GroupVersionKind) string {
	_, singular := meta.UnsafeGuessKindToResource(gvk)
	return singular.Resource
}

// isObject reports whether this is a kind of objects, as opposed to lists, options or a watch's
// events.
func (ks *kinds) isObject(gvk schema.GroupVersionKind) bool {
	if gvk.Version == "__internal" {
		return false
	}
	obj, err := ks.scheme.New(gvk)
	if err != nil {
		return false
	}
	_, ok := obj.(metav1.Object)
	return ok
}
