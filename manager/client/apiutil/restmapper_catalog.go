package apiutil

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/restmapper"
)

// catalog is what a mapper has learned from the server so far. It does not change: to learn more is
// to make another one. So readers need no lock.
type catalog struct {
	// groups are those that the server lists, in its order; nil before they were asked for.
	groups []metav1.APIGroup
	// resources are those of the versions that were asked for.
	resources map[schema.GroupVersion][]metav1.APIResource
	// asked are versions of these groups that were asked for, even if they are gone, or the API
	// server behind them did not answer. Others are not kept, or there would be more of them
	// without end.
	asked sets.Set[schema.GroupVersion]

	// mapper knows the paths of resources. It is made of all the rest.
	mapper meta.RESTMapper
}

func newCatalog() *catalog { return (&catalog{asked: sets.Set[schema.GroupVersion]{}}).sealed() }

// group returns a group as the server lists it, or nil.
func (c *catalog) group(name string) *metav1.APIGroup {
	for i := range c.groups {
		if c.groups[i].Name == name {
			return &c.groups[i]
		}
	}
	return nil
}

// versionsOf returns the versions of a group that the server lists.
func (c *catalog) versionsOf(group string) []string {
	var versions []string
	if listed := c.group(group); listed != nil {
		for _, version := range listed.Versions {
			versions = append(versions, version.Version)
		}
	}
	return versions
}

// isComplete reports whether all versions of a group were asked for. Before, the best version of a
// kind cannot be told from those that happen to be known.
func (c *catalog) isComplete(group string) bool {
	listed := c.group(group)
	return listed != nil && !slices.ContainsFunc(listed.Versions,
		func(version metav1.GroupVersionForDiscovery) bool {
			return !c.asked.Has(schema.GroupVersion{Group: group, Version: version.Version})
		})
}

// listed returns a catalog with a new list of groups.
func (c *catalog) listed(groups []metav1.APIGroup) *catalog {
	return (&catalog{groups: groups, resources: c.resources, asked: c.asked}).sealed()
}

// answers are what the server says about versions of groups.
type answers struct {
	resources map[schema.GroupVersion]*metav1.APIResourceList // nil is a version that is gone
	failed    map[schema.GroupVersion]error
}

// listedWith returns a catalog with a list of groups that came with all resources. Of a version
// that failed, the old ones stay: that a server does not answer says nothing about what it has.
func (c *catalog) listedWith(groups []metav1.APIGroup, all answers) *catalog {
	next := &catalog{groups: groups, resources: map[schema.GroupVersion][]metav1.APIResource{},
		asked: c.asked}
	for gv := range all.failed {
		next.resources[gv] = c.resources[gv]
	}
	return next.read(all)
}

// read returns a catalog with these answers.
func (c *catalog) read(a answers) *catalog {
	next := &catalog{groups: c.groups, resources: map[schema.GroupVersion][]metav1.APIResource{},
		asked: c.asked.Clone()}
	maps.Copy(next.resources, c.resources)
	for gv, list := range a.resources {
		next.asked.Insert(gv)
		if list == nil {
			delete(next.resources, gv)
		} else {
			next.resources[gv] = list.APIResources
		}
	}
	for gv := range a.failed {
		next.asked.Insert(gv)
	}
	for gv := range next.asked {
		if listed := c.group(gv.Group); listed == nil || !slices.ContainsFunc(listed.Versions,
			func(version metav1.GroupVersionForDiscovery) bool { return version.Version == gv.Version }) {
			next.asked.Delete(gv)
		}
	}
	return next.sealed()
}

// sealed makes the mapper. The order is the server's, so that a resource that is in two groups is
// found in the same one every time. Groups that are not in the list, which may be older, come last.
func (c *catalog) sealed() *catalog {
	place := func(group string) int {
		if i := slices.IndexFunc(c.groups,
			func(listed metav1.APIGroup) bool { return listed.Name == group }); i >= 0 {
			return i
		}
		return len(c.groups)
	}
	byGroup := map[string]*restmapper.APIGroupResources{}
	for version, resources := range c.resources {
		group := byGroup[version.Group]
		if group == nil {
			group = &restmapper.APIGroupResources{Group: metav1.APIGroup{Name: version.Group},
				VersionedResources: map[string][]metav1.APIResource{}}
			if listed := c.group(version.Group); listed != nil {
				group.Group = *listed.DeepCopy()
			}
			byGroup[version.Group] = group
		}
		group.VersionedResources[version.Version] = resources
	}
	var all []*restmapper.APIGroupResources
	for _, name := range slices.SortedFunc(maps.Keys(byGroup), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	}) {
		all = append(all, withUnlistedVersions(byGroup[name]))
	}
	c.mapper = restmapper.NewDiscoveryRESTMapper(all)
	return c
}

// withUnlistedVersions adds the versions that were asked for by name, and are not in the list of
// groups. They come last.
func withUnlistedVersions(group *restmapper.APIGroupResources) *restmapper.APIGroupResources {
	for _, version := range slices.Sorted(maps.Keys(group.VersionedResources)) {
		if !slices.ContainsFunc(group.Group.Versions,
			func(listed metav1.GroupVersionForDiscovery) bool { return listed.Version == version }) {
			group.Group.Versions = append(group.Group.Versions, metav1.GroupVersionForDiscovery{
				GroupVersion: schema.GroupVersion{Group: group.Group.Name,
					Version: version}.String(), Version: version,
			})
		}
	}
	return group
}

// ErrResourceDiscoveryFailed says for which versions of groups the server did not tell what is in
// them, and why. It's never a meta.IsNoMatchError: a version that the server says it doesn't have is
// no failure, and isn't in here.
//
// controller-runtime's turns a 404 into a meta.NoResourceMatchError, whoever has sent it.
type ErrResourceDiscoveryFailed map[schema.GroupVersion]error

// Error implements error.
func (e *ErrResourceDiscoveryFailed) Error() string {
	var failures []string
	for version, err := range *e {
		failures = append(failures, fmt.Sprintf("%s: %v", version, err))
	}
	slices.Sort(failures)
	return "the server does not say which resources it has: " + strings.Join(failures, ", ")
}

// Unwrap returns the failures.
func (e *ErrResourceDiscoveryFailed) Unwrap() []error {
	var failures []error
	for _, err := range *e {
		failures = append(failures, err)
	}
	return failures
}
