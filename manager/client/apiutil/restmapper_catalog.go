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

// catalog is what a mapper has learned from the server so far. It doesn't change: to learn more, we
// make a new one. So readers need no lock.
type catalog struct {
	// groups are the groups that the server lists, in its order; nil before we've asked.
	groups []metav1.APIGroup
	// resources are the resources of the versions that we've asked for.
	resources map[schema.GroupVersion][]metav1.APIResource
	// asked are versions of these groups that we've asked for, even if they no longer exist or the
	// API server behind them didn't answer. We don't keep others, or their number would grow
	// without end.
	asked sets.Set[schema.GroupVersion]

	// mapper knows the paths of resources. It's made from the other fields.
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

// isComplete reports whether we've asked for all versions of a group. Until then, we don't know
// whether the best known version of a kind is the best one.
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

// answers are the server's answers about versions of groups.
type answers struct {
	resources map[schema.GroupVersion]*metav1.APIResourceList // nil is a version that no longer exists
	failed    map[schema.GroupVersion]error
}

// listedWith returns a catalog with a list of groups that came with all resources. If a version
// failed, its old resources stay: a server that doesn't answer says nothing about what it has.
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

// sealed makes the mapper. The order is the server's, so that a resource in two groups is found in
// the same one every time. Groups that aren't in the list, which may be older, come last.
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

// withUnlistedVersions adds versions that were requested by name and aren't in the list of groups.
// They come last.
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

// ErrResourceDiscoveryFailed has the versions of groups for which discovery failed, and why. It's
// never a meta.IsNoMatchError: if the server says that it doesn't have a version, that isn't a
// failure, and isn't in here.
//
// controller-runtime's turns any 404 into a meta.NoResourceMatchError, no matter who sent it.
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
