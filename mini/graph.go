package mini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// OwnerGraph knows which objects own which. Its memory is the informers: an object names
// its owners, and the index ByOwner finds the objects that name a given owner.
type OwnerGraph struct {
	Kinds    []*GraphKind
	cluster  *Cluster
	discover *discovery.DiscoveryClient

	mu        sync.Mutex // guards resources
	resources map[schema.GroupVersionKind]metav1.APIResource
}

// GraphKind is the part of the graph with the objects of one kind.
type GraphKind struct {
	Like     Object
	Kind     schema.GroupKind // without the version: a reference may have another one
	informer *SharedInformer
}

// NewOwnerGraph returns the graph of all objects of these kinds, as m's cache shows them.
func NewOwnerGraph(m *Manager, kinds ...Object) (*OwnerGraph, error) {
	discover, err := discovery.NewDiscoveryClientForConfigAndClient(
		m.Cluster.config, m.Cluster.http)
	if err != nil {
		return nil, fmt.Errorf("owner graph: %w", err)
	}
	g := &OwnerGraph{
		cluster: m.Cluster, discover: discover,
		resources: map[schema.GroupVersionKind]metav1.APIResource{},
	}
	for _, like := range kinds {
		informer, err := m.Cache.Informer(like)
		if err != nil {
			return nil, fmt.Errorf("owner graph: %w", err)
		}
		kind, _ := m.Cluster.KindOf(like) // the cache has already found it
		g.Kinds = append(g.Kinds, &GraphKind{like, kind.GroupKind(), informer})
	}
	return g, nil
}

// Owner returns the owner that an object in this namespace refers to. It returns nil if
// the cache doesn't have it: the owner may have been deleted, may be new, or may be of
// another kind.
func (g *OwnerGraph) Owner(ref metav1.OwnerReference, namespace string) Object {
	for _, k := range g.Kinds {
		if owner := k.owner(ref, namespace); owner != nil {
			return owner
		}
	}
	return nil
}

// owner finds an owner in the namespace of its dependent, or one without a namespace. An
// object in another namespace can't be the owner, even if it has the UID.
func (k *GraphKind) owner(ref metav1.OwnerReference, namespace string) Object {
	if schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != k.Kind {
		return nil
	}
	for _, namespace := range []string{namespace, ""} {
		obj := k.informer.Get(Request{Namespace: namespace, Name: ref.Name})
		if obj != nil && obj.GetUID() == ref.UID {
			return obj
		}
	}
	return nil
}

// Dependents returns the objects that name owner among their owners.
func (g *OwnerGraph) Dependents(owner Object) (all []Object) {
	for _, k := range g.Kinds {
		all = append(all, k.dependents(owner)...)
	}
	return all
}

func (k *GraphKind) dependents(owner Object) []Object {
	all, _ := k.informer.ByIndex(ByOwner, string(owner.GetUID())) // it has the index
	return slices.DeleteFunc(all, func(obj Object) bool {
		return owner.GetNamespace() != "" && owner.GetNamespace() != obj.GetNamespace()
	})
}

// BlockingDependents returns the dependents for which an owner waits when it's deleted in
// the foreground.
func (g *OwnerGraph) BlockingDependents(owner Object) (all []Object) {
	for _, obj := range g.Dependents(owner) {
		for _, ref := range obj.GetOwnerReferences() {
			blocks := ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
			if blocks && ref.UID == owner.GetUID() {
				all = append(all, obj)
			}
		}
	}
	return all
}

// isDeletingDependents is true of an object that's being deleted in the foreground.
func isDeletingDependents(obj Object) bool {
	return obj.GetDeletionTimestamp() != nil &&
		ContainsFinalizer(obj, metav1.FinalizerDeleteDependents)
}

// Watch makes c enqueue each object of kind k that may have become garbage, or may have
// nothing left to wait for.
func (g *OwnerGraph) Watch(c *Controller, k *GraphKind) {
	c.Watch(k.informer, EnqueueObject)
	for _, other := range g.Kinds {
		c.Watch(other.informer, EnqueueMapped(func(owner Object) (all []Request) {
			for _, obj := range k.dependents(owner) {
				all = append(all, KeyOf(obj))
			}
			return all
		}), ownerEnds)
		c.Watch(other.informer, EnqueueMapped(k.waitingOwners))
	}
}

// ownerEnds is true if the object's dependents may have to go.
func ownerEnds(change Change) bool {
	return change.New == nil || isDeletingDependents(change.New)
}

// waitingOwners are the owners that may be waiting for the object's deletion.
func (k *GraphKind) waitingOwners(obj Object) (all []Request) {
	for _, ref := range obj.GetOwnerReferences() {
		owner := k.owner(ref, obj.GetNamespace())
		if owner != nil && isDeletingDependents(owner) {
			all = append(all, KeyOf(owner))
		}
	}
	return all
}

// ClassifyReferences sorts the owners of the item: a solid one exists, and a waiting one
// wants its dependents to be deleted first. The rest no longer exist.
//
// Guarantees: that an owner no longer exists or is waiting is always the API server's
// word. The cache is believed only if it shows a solid one.
func (g *OwnerGraph) ClassifyReferences(
	ctx context.Context, item Object,
) (solid, waiting []metav1.OwnerReference, err error) {
	for _, ref := range item.GetOwnerReferences() {
		owner := g.Owner(ref, item.GetNamespace())
		if owner == nil || isDeletingDependents(owner) {
			owner, err = g.getOwner(ctx, ref, item.GetNamespace())
		}
		switch {
		case err != nil:
			return nil, nil, err
		case owner == nil: // it no longer exists
		case isDeletingDependents(owner):
			waiting = append(waiting, ref)
		default:
			solid = append(solid, ref)
		}
	}
	return solid, waiting, nil
}

// getOwner asks the API server for an owner of any kind. It returns nil if there's none.
func (g *OwnerGraph) getOwner(
	ctx context.Context, ref metav1.OwnerReference, namespace string,
) (Object, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	resource, err := g.resource(ctx, kind)
	if err != nil {
		return nil, fmt.Errorf("the owner's kind %s: %w", kind, err)
	}
	key := Request{Name: ref.Name}
	if resource.Namespaced {
		key.Namespace = namespace
	}
	if resource.Namespaced && namespace == "" {
		return nil, fmt.Errorf("no namespace in which to look for the owner %s", ref.Name)
	}
	path := kind.GroupVersion().WithResource(resource.Name)
	answer := g.cluster.requestFor("GET", path, key.Namespace).Name(ref.Name).
		SetHeader("Accept", "application/json").Do(ctx)
	err = answer.Error()
	if isAbsent(err, key) {
		return nil, nil
	}
	if err != nil {
		g.forget(kind) // its CRD may have been recreated with another plural
		return nil, check404(err, key)
	}
	owner := &metav1.PartialObjectMetadata{}
	body, _ := answer.Raw() // it has no error
	err = json.Unmarshal(body, owner)
	if err != nil { // a login page
		return nil, fmt.Errorf("reading the owner %s: %w in %.80q", ref.Name, err, body)
	}
	if owner.Name != ref.Name || owner.UID == "" {
		return nil, fmt.Errorf("expected the owner %s, got %.80q", ref.Name, body)
	}
	if owner.UID != ref.UID {
		return nil, nil // another object has its name
	}
	return owner, nil
}

// resource asks the API server, once, for the path of a kind and whether its objects have
// namespaces. Guessing won't do: the plural of Gateway is gateways, not gatewaies.
func (g *OwnerGraph) resource(
	ctx context.Context, kind schema.GroupVersionKind,
) (metav1.APIResource, error) {
	g.mu.Lock()
	known, ok := g.resources[kind]
	g.mu.Unlock()
	if ok {
		return known, nil
	}
	list, err := g.discover.ServerResourcesForGroupVersionWithContext(
		ctx, kind.GroupVersion().String())
	if err != nil {
		return known, check404(err, Request{})
	}
	for _, r := range list.APIResources {
		if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") { // no subresource
			g.mu.Lock()
			defer g.mu.Unlock()
			g.resources[kind] = r
			return r, nil
		}
	}
	return known, errors.New("the API server doesn't know this kind")
}

func (g *OwnerGraph) forget(kind schema.GroupVersionKind) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.resources, kind)
}
