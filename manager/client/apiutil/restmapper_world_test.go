package apiutil

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// documents is a server that says which kinds it has.
type documents struct {
	mu         sync.Mutex // guards what follows
	aggregated bool       // it sends all with the list of groups
	groups     []metav1.APIGroup
	resources  map[schema.GroupVersion][]metav1.APIResource
	broken     map[schema.GroupVersion]error
	down       error
	delay      time.Duration
	asked      []string
}

func newDocuments(kinds ...schema.GroupVersionKind) *documents {
	d := &documents{resources: map[schema.GroupVersion][]metav1.APIResource{}, broken: map[schema.GroupVersion]error{}}
	d.install(kinds...)
	return d
}

func gvk(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// install adds kinds. The first version of a group is the preferred one.
func (d *documents) install(kinds ...schema.GroupVersionKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, kind := range kinds {
		i := slices.IndexFunc(d.groups, func(g metav1.APIGroup) bool { return g.Name == kind.Group })
		version := metav1.GroupVersionForDiscovery{GroupVersion: kind.GroupVersion().String(), Version: kind.Version}
		if i < 0 {
			i = len(d.groups)
			d.groups = append(d.groups, metav1.APIGroup{Name: kind.Group, PreferredVersion: version})
		}
		if !slices.Contains(d.groups[i].Versions, version) {
			d.groups[i].Versions = append(d.groups[i].Versions, version)
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		d.resources[kind.GroupVersion()] = append(d.resources[kind.GroupVersion()], metav1.APIResource{Name: plural.Resource, Kind: kind.Kind, Namespaced: kind.Kind != "Node"})
	}
}

// remove removes a group version with all its kinds.
func (d *documents) remove(gv schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.resources, gv)
	for i := range d.groups {
		d.groups[i].Versions = slices.DeleteFunc(d.groups[i].Versions, func(v metav1.GroupVersionForDiscovery) bool { return v.GroupVersion == gv.String() })
	}
}

func (d *documents) ask(what string) error {
	d.mu.Lock()
	delay := d.delay
	d.asked = append(d.asked, what)
	down := d.down
	d.mu.Unlock()
	time.Sleep(delay)
	return down
}

// requests returns what was asked since the last call.
func (d *documents) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := d.asked
	d.asked = nil
	return asked
}

// GroupsAndMaybeResources implements server.
func (d *documents) GroupsAndMaybeResources() (*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error) {
	if err := d.ask("groups"); err != nil {
		return nil, nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	groups := (&metav1.APIGroupList{Groups: d.groups}).DeepCopy()
	if !d.aggregated {
		return groups, nil, map[schema.GroupVersion]error{}, nil
	}
	all, failed := map[schema.GroupVersion]*metav1.APIResourceList{}, map[schema.GroupVersion]error{}
	for gv, resources := range d.resources {
		if err := d.broken[gv]; err != nil {
			failed[gv] = err
			continue
		}
		all[gv] = &metav1.APIResourceList{APIResources: slices.Clone(resources)}
	}
	return groups, all, failed, nil
}

// Resources implements server.
func (d *documents) Resources(_ context.Context, gv schema.GroupVersion) (*metav1.APIResourceList, error) {
	if err := d.ask(gv.String()); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.broken[gv]; err != nil {
		return nil, err
	}
	resources, found := d.resources[gv]
	if !found {
		return nil, nil
	}
	return &metav1.APIResourceList{APIResources: slices.Clone(resources)}, nil
}

var (
	podKind     = gvk("", "v1", "Pod")
	deployKind  = gvk("apps", "v1", "Deployment")
	widgetV1    = gvk("shop.example", "v1", "Widget")
	widgetBeta  = gvk("shop.example", "v1beta1", "Widget")
	gadgetV1    = gvk("shop.example", "v1", "Gadget")
	unknownKind = gvk("nobody.example", "v1", "Nothing")
)

// find returns the version and the resource that a mapper has for a kind.
func find(m meta.RESTMapper, kind schema.GroupVersionKind, versions ...string) (string, error) {
	mapping, err := m.RESTMapping(kind.GroupKind(), versions...)
	if err != nil {
		return "", err
	}
	return mapping.Resource.Version + " " + mapping.Resource.Resource, nil
}

func mustFind(t *testing.T, m meta.RESTMapper, want string, kind schema.GroupVersionKind, versions ...string) {
	t.Helper()
	found, err := find(m, kind, versions...)
	require.NoError(t, err)
	require.Equal(t, want, found)
}

var errDown = errors.New("connection refused")
