package mini

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OwnerGraph knows which objects own which: as the cache shows it, and for certain.
type OwnerGraph struct {
	cluster *Cluster
	kinds   []*graphKind

	mu     sync.Mutex      // guards absent
	absent map[string]bool // owners that do not exist, as dependents describe them
}

// graphKind is the part of the graph that objects of one kind are.
type graphKind struct {
	like     Object
	kind     schema.GroupKind
	informer *SharedInformer
}

// NewOwnerGraph returns the graph of all objects of these kinds.
func NewOwnerGraph(m *Manager, kinds ...Object) (*OwnerGraph, error) {
	g := &OwnerGraph{cluster: m.Cluster, absent: map[string]bool{}}
	for _, like := range kinds {
		informer, err := m.Cache.Informer(like)
		if err != nil {
			return nil, fmt.Errorf("owner graph: %w", err)
		}
		kind, _ := m.Cluster.KindOf(like) // the cache has found it already
		g.kinds = append(g.kinds, &graphKind{like, kind.GroupKind(), informer})
	}
	return g, nil
}

// Owner returns the owner that an object in this namespace refers to, or nil.
func (g *OwnerGraph) Owner(ref metav1.OwnerReference, namespace string) Object {
	for _, k := range g.kinds {
		if owner := k.owner(ref, namespace); owner != nil {
			return owner
		}
	}
	return nil
}

// Dependents returns the objects that name owner among their owners.
func (g *OwnerGraph) Dependents(owner Object) (all []Object) {
	for _, k := range g.kinds {
		all = append(all, k.dependents(owner)...)
	}
	return all
}

// BlockingDependents returns the dependents that an owner waits for if it is deleted in
// the foreground.
func (g *OwnerGraph) BlockingDependents(owner Object) (all []Object) {
	for _, obj := range g.Dependents(owner) {
		for _, ref := range obj.GetOwnerReferences() {
			blocks := ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
			found := g.Owner(ref, obj.GetNamespace())
			if blocks && found != nil && found.GetUID() == owner.GetUID() {
				all = append(all, obj)
			}
		}
	}
	return all
}

// ShowsOwners is true if the cache has all owners, and none of them is waiting. So the
// collector asks the API server nothing about the objects of a healthy cluster.
func (g *OwnerGraph) ShowsOwners(item Object) bool {
	for _, ref := range item.GetOwnerReferences() {
		owner := g.Owner(ref, item.GetNamespace())
		if owner == nil || isDeletingDependents(owner) {
			return false
		}
	}
	return true
}

// watch adds to the controller's queue the objects of one kind that may have become
// garbage, or may have nothing to wait for any more.
func (g *OwnerGraph) watch(c *Controller, k *graphKind) {
	c.Watch(k.informer, EnqueueObject, ownershipChanged)
	for _, other := range g.kinds {
		c.Watch(other.informer, EnqueueMapped(func(owner Object) []Request {
			return keysOf(k.dependents(owner))
		}), ownerEnds)
		c.Watch(other.informer, EnqueueMapped(func(dependent Object) []Request {
			return keysOf(k.deletingOwners(dependent))
		}))
	}
}

// ownershipChanged is true if the object itself is a reason to ask for its owners. It may
// have come after they had gone.
func ownershipChanged(change Change) bool {
	before, after := change.Old, change.New
	if isWhole(change) {
		return true
	}
	was, is := before.GetOwnerReferences(), after.GetOwnerReferences()
	return !equality.Semantic.DeepEqual(was, is) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
}

// ownerEnds is true if the dependents of the object may have to go.
func ownerEnds(change Change) bool {
	return change.New == nil || isDeletingDependents(change.New)
}

// isDeletingDependents is true of an object that is deleted in the foreground.
func isDeletingDependents(obj Object) bool {
	return obj.GetDeletionTimestamp() != nil &&
		slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

func (k *graphKind) dependents(owner Object) []Object {
	all, _ := k.informer.ByIndex(ByOwner, string(owner.GetUID())) // it has the index
	return all
}

// deletingOwners are the owners that may be waiting for the object to be gone.
func (k *graphKind) deletingOwners(obj Object) (all []Object) {
	for _, ref := range obj.GetOwnerReferences() {
		owner := k.owner(ref, obj.GetNamespace())
		if owner != nil && isDeletingDependents(owner) {
			all = append(all, owner)
		}
	}
	return all
}

// owner finds an owner in the namespace of its dependent, or in none. An object in
// another namespace cannot be the owner, even if it has the UID.
func (k *graphKind) owner(ref metav1.OwnerReference, namespace string) Object {
	if schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != k.kind {
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

func keysOf(objs []Object) (all []Request) {
	for _, obj := range objs {
		all = append(all, KeyOf(obj))
	}
	return all
}

// ClassifyReferences asks the API server for the owners: a solid one is there, a waiting
// one wants its dependents to be deleted. The rest are gone.
func (g *OwnerGraph) ClassifyReferences(
	ctx context.Context, item Object,
) (solid, waiting []metav1.OwnerReference, err error) {
	for _, ref := range item.GetOwnerReferences() {
		owner, err := g.getOwner(ctx, ref, item.GetNamespace())
		switch {
		case err != nil:
			return nil, nil, err
		case owner == nil:
		case isDeletingDependents(owner):
			waiting = append(waiting, ref)
		default:
			solid = append(solid, ref)
		}
	}
	return solid, waiting, nil
}

// getOwner asks the API server for an owner, and returns nil if there is none. One that
// was absent is never asked for again: a UID does not come back.
func (g *OwnerGraph) getOwner(
	ctx context.Context, ref metav1.OwnerReference, namespace string,
) (Object, error) {
	// The UID alone would not do: a dependent that names the wrong kind, or lives in
	// another namespace, has no owner, while others have one with this very UID.
	ref.Controller, ref.BlockOwnerDeletion = nil, nil
	id := namespace + " " + ref.String()
	g.mu.Lock()
	absent := g.absent[id]
	g.mu.Unlock()
	if absent {
		return nil, nil
	}
	owner, err := g.getMetadata(ctx, ref, namespace)
	if apierrors.IsNotFound(err) || err == nil && owner.GetUID() != ref.UID {
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.absent) >= 500 {
			clear(g.absent)
		}
		g.absent[id] = true
		return nil, nil
	}
	return owner, err
}

// getMetadata reads an object of any kind. Without discovery the collector does not know
// whether the kind has namespaces, so it tries both.
func (g *OwnerGraph) getMetadata(
	ctx context.Context, ref metav1.OwnerReference, namespace string,
) (Object, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	for _, namespace := range slices.Compact([]string{namespace, ""}) {
		req, err := g.cluster.request("GET", kind, namespace)
		if err != nil {
			return nil, err
		}
		answer := req.Name(ref.Name).SetHeader("Accept", "application/json").Do(ctx)
		err = answer.Error()
		if apierrors.IsNotFound(err) && !isAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		body, err := answer.Raw()
		owner := &metav1.PartialObjectMetadata{}
		return owner, errors.Join(err, json.Unmarshal(body, owner))
	}
	return nil, fmt.Errorf("the API server does not know the owner's kind %s", kind)
}

// isAbsent is true if the API server knows the kind, and has no object of that name. It
// answers 404, too, when it does not serve the path, and that says nothing about the
// object: the kind may be spelt in another way, or its CRD may be away for a moment.
func isAbsent(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && apierrors.IsNotFound(err) &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) &&
		answer.Status().Details != nil && answer.Status().Details.Name != ""
}
