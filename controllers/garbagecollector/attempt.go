package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// Reconcile does whatever has to be done for a node, if anything.
func (gc *collector) Reconcile(
	ctx context.Context, req reconcile.Request,
) (reconcile.Result, error) {
	it, isKnown := gc.itemOf(types.UID(req.Name))
	switch {
	case !isKnown:
		return reconcile.Result{}, nil
	case it.virtual:
		return gc.attemptVirtual(ctx, it)
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues(
		"kind", it.kind.String(), "namespace", it.namespace, "object", it.name))
	switch {
	case it.orphaning:
		return gc.orphanDependents(ctx, it)
	case it.deletingDependents:
		return gc.processDeletingDependents(ctx, it)
	case it.beingDeleted, it.hasSolidOwners: // it may have no owner at all
		return reconcile.Result{}, nil
	}
	return gc.attemptToDelete(ctx, it)
}

func (gc *collector) itemOf(uid types.UID) (it item, isKnown bool) {
	gc.mu.Lock()
	defer gc.mu.Unlock()
	return gc.graph.itemOf(uid)
}

// lookAgain is the time until the next attempt for a node if the graph and the API server disagree
// about it. Most often, the informer is only late, and by then the graph shows that there's nothing
// to do. But the answer may come from a stale server, or the graph may be incomplete.
const lookAgain = 5 * time.Second

var again = reconcile.Result{RequeueAfter: lookAgain}

// attemptVirtual asks the API server for an owner that no informer shows, once for each of the ways
// in which dependents refer to it. If the owner is absent, the dependents that mean it are woken.
// If it exists, we have to ask again: if it were deleted before its informer has shown it, nothing
// else would tell us.
func (gc *collector) attemptVirtual(ctx context.Context, it item) (reconcile.Result, error) {
	var isThere bool
	var failures []error
	for _, id := range it.identities {
		state, err := gc.askFor(ctx, id)
		if err != nil && !errors.Is(err, errNamespacedOwner) {
			failures = append(failures, err)
		}
		isThere = isThere || state == ownerSolid || state == ownerWaiting
	}
	if err := errors.Join(failures...); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{Requeue: isThere}, nil
}

// attemptToDelete deletes the item if all of its owners are absent or wait for its deletion.
func (gc *collector) attemptToDelete(ctx context.Context, it item) (reconcile.Result, error) {
	live, err := gc.getLive(ctx, it)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case live == nil:
		return again, nil
	case live.DeletionTimestamp != nil:
		return reconcile.Result{}, nil // its informer shows what becomes of it
	}
	solid, waiting, err := gc.classifyReferences(ctx, live)
	if errors.Is(err, errNamespacedOwner) {
		log.FromContext(ctx).V(1).Info("An object without a namespace has an owner in one, " +
			"and is left alone")
		return reconcile.Result{}, nil
	}
	refs := live.OwnerReferences
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case len(solid) == len(refs) && it.hasWaitingOwner:
		return again, nil
	case len(solid) == len(refs):
		return reconcile.Result{}, nil
	case len(solid) > 0:
		return reconcile.Result{}, gc.patch(ctx, live, "ownerReferences", solid)
	case len(waiting) == 0 || gc.hasNoDependents(it):
		log.FromContext(ctx).V(1).Info("Deleting an object: its owners have been deleted")
		return reconcile.Result{}, gc.deleteObject(ctx, live, policyOf(live))
	}
	// The item's own dependents go before it does.
	if it.waitsForItself {
		if err := gc.unblockOwners(ctx, live); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, gc.deleteObject(ctx, live, metav1.DeletePropagationForeground)
}

// hasNoDependents is false if there may be dependents that the graph doesn't have.
func (gc *collector) hasNoDependents(it item) bool {
	if it.hasDependents || gc.complete() != nil {
		return false
	}
	it, _ = gc.itemOf(it.uid)
	return !it.hasDependents
}

// classifyReferences sorts the owners of an object: a solid one exists, and a waiting one wants its
// dependents to be deleted. The rest are absent.
//
// It asks the API server about owners that the graph doesn't know, and about those that want their
// dependents to be deleted: a restored backup may have undone that. The original always asks.
func (gc *collector) classifyReferences(
	ctx context.Context, live *metav1.PartialObjectMetadata,
) (solid, waiting []metav1.OwnerReference, err error) {
	for _, ref := range live.OwnerReferences {
		gc.mu.Lock()
		state := gc.graph.stateOf(ref, live.Namespace)
		gc.mu.Unlock()
		if state == ownerUnknown || state == ownerWaiting {
			if state, err = gc.askFor(ctx, identityOf(ref, live.Namespace)); err != nil {
				return nil, nil, err
			}
		}
		switch state {
		case ownerSolid:
			solid = append(solid, ref)
		case ownerWaiting:
			waiting = append(waiting, ref)
		}
	}
	return solid, waiting, nil
}

// policyOf returns the policy that leaves an object's finalizers alone.
func policyOf(object metav1.Object) metav1.DeletionPropagation {
	switch finalizers := object.GetFinalizers(); {
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// processDeletingDependents releases the item when it has nothing left to wait for. The deletion of
// each dependent wakes the item.
func (gc *collector) processDeletingDependents(
	ctx context.Context, it item,
) (reconcile.Result, error) {
	switch {
	case !it.isBlocked:
		return gc.letGo(ctx, it, metav1.FinalizerDeleteDependents)
	case !it.waitsForItself:
		return reconcile.Result{}, nil
	}
	live, err := gc.getLive(ctx, it)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case live == nil:
		return again, nil
	}
	return reconcile.Result{}, gc.unblockOwners(ctx, live)
}

// unblockOwners takes an object out of a circle in which each waits for the next: its owners no
// longer wait for it.
func (gc *collector) unblockOwners(ctx context.Context, live *metav1.PartialObjectMetadata) error {
	if !slices.ContainsFunc(live.OwnerReferences, isBlocking) {
		return nil
	}
	refs := slices.Clone(live.OwnerReferences)
	for i := range refs {
		refs[i].BlockOwnerDeletion = new(false)
	}
	return gc.patch(ctx, live, "ownerReferences", refs)
}

// orphansAtOnce is how many dependents of an owner are orphaned at a time.
const orphansAtOnce = 20

// orphanDependents removes the owner from its dependents. It releases the owner when the graph
// shows that no dependent is left, and not as soon as each patch has been answered: the answer to a
// patch may be false, and then the dependent would be deleted. The last dependent to lose its
// reference wakes the owner.
func (gc *collector) orphanDependents(ctx context.Context, owner item) (reconcile.Result, error) {
	if !owner.hasDependents {
		return gc.letGo(ctx, owner, metav1.FinalizerOrphanDependents)
	}
	gc.mu.Lock()
	dependents := gc.graph.dependentsOf(owner.uid)
	gc.mu.Unlock()
	failures := make([]error, len(dependents))
	places := make(chan struct{}, orphansAtOnce) // held by those that are being orphaned
	var running sync.WaitGroup
	for i, dependent := range dependents {
		places <- struct{}{}
		running.Go(func() {
			failures[i] = gc.orphan(ctx, dependent, owner.uid)
			<-places
		})
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return reconcile.Result{}, err
	}
	return again, nil
}

// orphan removes an object's references to an owner.
func (gc *collector) orphan(ctx context.Context, dependent item, owner types.UID) error {
	live, err := gc.getLive(ctx, dependent)
	if err != nil || live == nil || findOwner(live.OwnerReferences, owner) == nil {
		return err
	}
	return gc.patch(ctx, live, "ownerReferences", slices.DeleteFunc(
		slices.Clone(live.OwnerReferences),
		func(ref metav1.OwnerReference) bool { return ref.UID == owner },
	))
}

// letGo removes the finalizer of an owner that has nothing left to wait for, unless a dependent may
// exist where the graph can't see. Kubernetes' namespace controller waits in the same way: while a
// group doesn't answer, it deletes no namespace.
func (gc *collector) letGo(
	ctx context.Context, owner item, finalizer string,
) (reconcile.Result, error) {
	if err := gc.complete(); err != nil {
		log.FromContext(ctx).V(1).Info("An owner keeps its finalizer, as not all objects are known",
			"finalizer", finalizer, "unknown", err.Error())
		return again, nil
	}
	switch err := gc.current(ctx, owner.kind); {
	case errors.Is(err, errAhead):
		log.FromContext(ctx).Info("An owner keeps its finalizer until the informers have listed again",
			"finalizer", finalizer, "why", err.Error())
		return again, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("%s keeps its finalizer %s: %w", owner, finalizer, err)
	}
	// What complete and current say is true of the graph as it is now.
	now, _ := gc.itemOf(owner.uid)
	if now.orphaning && now.hasDependents || now.deletingDependents && now.isBlocked {
		return again, nil
	}
	live, err := gc.getLive(ctx, owner)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case live == nil || !slices.Contains(live.Finalizers, finalizer):
		return again, nil
	}
	return reconcile.Result{}, gc.patch(ctx, live, "finalizers", slices.DeleteFunc(
		slices.Clone(live.Finalizers), func(other string) bool { return other == finalizer }))
}
