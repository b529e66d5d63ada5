package mini

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// garbageCollector deletes objects whose owners have all been deleted. It also finishes
// foreground and orphan deletions: for these, the API server keeps the owner, with a
// finalizer, until its dependents have been deleted or orphaned.
type garbageCollector struct {
	client *CachedClient
	graph  *OwnerGraph
}

// NewGarbageCollector returns one controller for each kind. Together they collect the
// objects of these kinds. Add them to m.
//
// Guarantees: an object with a living owner is never deleted, however late the cache is.
// Of each owner, the API server has said that it no longer exists or wants its dependents
// to be deleted, and it refuses the deletion if the object has got another owner since.
//
// Caveats: it checks owners of other kinds only when a dependent appears or changes,
// because it doesn't see when such an owner is deleted. In a foreground deletion, an
// owner doesn't wait for a dependent that the cache doesn't have yet.
func NewGarbageCollector(m *Manager, kinds ...Object) (all []*Controller, err error) {
	graph, err := NewOwnerGraph(m, kinds...)
	if err != nil {
		return nil, err
	}
	gc := &garbageCollector{client: m.Client, graph: graph}
	for _, k := range graph.Kinds {
		name := "garbage-" + strings.ToLower(k.Kind.Kind)
		c := m.NewController(name, 1, ReconcilerFunc(
			func(ctx context.Context, req Request) (Result, error) {
				return Result{}, gc.reconcile(ctx, req, k.Like.DeepCopyObject().(Object))
			}))
		graph.Watch(c, k)
		all = append(all, c)
	}
	return all, nil
}

// reconcile fills item with the object, and decides what has to happen to it.
func (gc *garbageCollector) reconcile(
	ctx context.Context, req Request, item Object,
) error {
	err := gc.client.Get(ctx, req, item)
	switch {
	case err != nil:
		return IgnoreNotFound(err)
	case item.GetDeletionTimestamp() == nil:
		return gc.attemptToDeleteItem(ctx, item)
	case ContainsFinalizer(item, metav1.FinalizerOrphanDependents):
		return gc.orphanDependents(ctx, item)
	case isDeletingDependents(item):
		return gc.processDeletingDependentsItem(ctx, item)
	}
	return nil // it waits for other controllers' finalizers
}

// attemptToDeleteItem deletes the item if each of its owners has been deleted, or is
// waiting for the item's deletion.
func (gc *garbageCollector) attemptToDeleteItem(ctx context.Context, item Object) error {
	solid, waiting, err := gc.graph.ClassifyReferences(ctx, item)
	refs, dependents := item.GetOwnerReferences(), gc.graph.Dependents(item)
	switch {
	case err != nil:
		return err
	case len(solid) == len(refs):
		return nil // it may have no owner at all
	case len(solid) > 0:
		return gc.patch(ctx, item, "ownerReferences", solid)
	case len(waiting) == 0 || len(dependents) == 0:
		return gc.deleteObject(ctx, item, policyOf(item))
	}
	// The item's own dependents have to go first. If one of them already waits for
	// dependents, the item may be among these, and they'd wait for each other forever.
	if slices.ContainsFunc(dependents, isDeletingDependents) {
		for i := range refs {
			refs[i].BlockOwnerDeletion = new(false)
		}
		if err := gc.patch(ctx, item, "ownerReferences", refs); err != nil {
			return err
		}
	}
	return gc.deleteObject(ctx, item, metav1.DeletePropagationForeground)
}

// policyOf returns the policy that leaves the object's finalizers as they are.
func policyOf(obj Object) metav1.DeletionPropagation {
	switch {
	case ContainsFinalizer(obj, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case ContainsFinalizer(obj, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// deleteObject deletes the version that was judged: if the object has changed since, the
// API server refuses. If its owners and its policy are still the same, the verdict also
// holds for its current version, so it tries that one. It never deletes by the UID alone,
// because another owner may adopt the object before the request arrives.
//
// If the object changes even faster, it's left to the next reconcile, which each of its
// changes brings about.
func (gc *garbageCollector) deleteObject(
	ctx context.Context, obj Object, policy metav1.DeletionPropagation,
) error {
	refs := obj.GetOwnerReferences()
	err := gc.deleteVersion(ctx, obj, policy)
	if !apierrors.IsConflict(err) {
		return IgnoreNotFound(err)
	}
	now := obj.DeepCopyObject().(Object)
	if err := gc.client.Client.Get(ctx, KeyOf(obj), now); err != nil {
		return IgnoreNotFound(err)
	}
	sameOwners := equality.Semantic.DeepEqual(now.GetOwnerReferences(), refs)
	if now.GetUID() != obj.GetUID() || !sameOwners || policyOf(now) != policyOf(obj) {
		return err // the next reconcile judges it again
	}
	return IgnoreNotFound(gc.deleteVersion(ctx, now, policy))
}

// deleteVersion deletes the object if it's still the version in obj.
func (gc *garbageCollector) deleteVersion(
	ctx context.Context, obj Object, policy metav1.DeletionPropagation,
) error {
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	only := &metav1.Preconditions{UID: &uid, ResourceVersion: &version}
	options := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: only}
	return gc.client.Delete(ctx, obj, options)
}

// processDeletingDependentsItem lets the item go when it has nothing left to wait for.
// The deletion of each dependent enqueues the item again.
func (gc *garbageCollector) processDeletingDependentsItem(
	ctx context.Context, item Object,
) error {
	if len(gc.graph.BlockingDependents(item)) > 0 {
		return nil
	}
	return gc.removeFinalizer(ctx, item, metav1.FinalizerDeleteDependents)
}

// orphanDependents removes the owner from its dependents, and then lets it go. It lists
// the dependents on the API server, because one that a late cache doesn't have would end
// up deleted.
func (gc *garbageCollector) orphanDependents(ctx context.Context, owner Object) error {
	isOwner := func(ref metav1.OwnerReference) bool { return ref.UID == owner.GetUID() }
	inNamespace := Selection{Namespace: owner.GetNamespace()}
	for _, k := range gc.graph.Kinds {
		objs, err := gc.client.Client.List(ctx, k.Like, inNamespace)
		if err != nil {
			return err
		}
		for _, obj := range objs {
			refs := obj.GetOwnerReferences()
			if !slices.ContainsFunc(refs, isOwner) {
				continue
			}
			refs = slices.DeleteFunc(refs, isOwner)
			if err := gc.patch(ctx, obj, "ownerReferences", refs); err != nil {
				return err
			}
		}
	}
	return gc.removeFinalizer(ctx, owner, metav1.FinalizerOrphanDependents)
}

// removeFinalizer lets the owner go.
func (gc *garbageCollector) removeFinalizer(
	ctx context.Context, owner Object, finalizer string,
) error {
	RemoveFinalizer(owner, finalizer)
	return gc.patch(ctx, owner, "finalizers", owner.GetFinalizers())
}

// patch replaces one field of the metadata, unless the object has changed since.
func (gc *garbageCollector) patch(
	ctx context.Context, obj Object, field string, value any,
) error {
	data, _ := json.Marshal(map[string]any{"metadata": map[string]any{
		field: value, "resourceVersion": obj.GetResourceVersion(),
	}}) // strings: can't fail
	return IgnoreNotFound(gc.client.Patch(ctx, obj, types.MergePatchType, data))
}
