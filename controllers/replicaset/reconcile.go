package replicaset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/controllers/internal/podstate"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
)

// reconciler reconciles ReplicaSets.
type reconciler struct {
	client       client.Client      // reads from the cache, its own writes included
	cached       client.Reader      // reads from the cache, without waiting
	live         client.Reader      // reads from the API server
	waiter       client.WriteWaiter // the cache
	events       events.EventRecorder
	index        claim.Index
	suffix       func(length int) string // of names; random
	burst        int                     // how many Pods one reconcile creates or deletes
	unconfirmed  unconfirmedWrites
	expectations expectations
	// dropsTerminating is true if the API server left terminatingReplicas out of its last answer.
	dropsTerminating atomic.Bool
}

// sight is a ReplicaSet with its Pods as one call of look has read them. The objects may be the
// cache's own.
type sight struct {
	rs          *appsv1.ReplicaSet
	active      []*corev1.Pod // the active Pods that the ReplicaSet owns
	terminating []*corev1.Pod // the terminating ones
}

// missing is how many Pods are missing; it's negative if there are too many. For a ReplicaSet that
// is being deleted it is 0: the garbage collector decides about its Pods.
func (s *sight) missing() int {
	if s.rs.DeletionTimestamp != nil {
		return 0
	}
	return s.want() - len(s.active)
}

func (s *sight) want() int {
	if s.rs.Spec.Replicas == nil {
		return 1 // the API server's default
	}
	return int(*s.rs.Spec.Replicas)
}

// hasLost reports whether Pods are missing that existed when the status was written. Perhaps the
// ReplicaSet is gone, and the garbage collector has deleted them.
func (s *sight) hasLost() bool {
	return s.missing() > 0 && len(s.active) < int(s.rs.Status.Replicas)
}

// Reconcile reads a ReplicaSet and its Pods, acts, reads again if it has acted, and writes the
// status if it has changed. The second read sees the new Pods, so one write of the status is
// enough.
func (r *reconciler) Reconcile(
	ctx context.Context, request reconcile.Request,
) (reconcile.Result, error) {
	seen, err := r.look(ctx, request.NamespacedName)
	if seen == nil || err != nil {
		return reconcile.Result{}, err
	}
	if seen.missing() == 0 {
		return r.report(ctx, seen, nil)
	}
	if seen.hasLost() {
		if isThere, err := claim.IsThere(ctx, r.live, seen.rs); !isThere || err != nil {
			return reconcile.Result{}, err // if it's gone, the watch will report it
		}
	}
	failed := r.act(ctx, seen)
	if failed != nil && errors.Is(failed.err, errNamespaceEnds) {
		return r.report(ctx, seen, nil)
	}
	if seen, err = r.look(ctx, request.NamespacedName); err != nil && failed != nil {
		return reconcile.Result{}, fmt.Errorf("%w; and then: %w", failed.err, err)
	} else if seen == nil || err != nil {
		return reconcile.Result{}, err
	}
	if seen.missing() == 0 {
		failed = nil // the failed write happened after all, or is no longer needed
	}
	switch result, err := r.report(ctx, seen, failed); {
	case err != nil:
		return reconcile.Result{}, err
	case failed != nil:
		return reconcile.Result{}, failed.err
	case seen.missing() != 0: // the burst was reached, or something has changed
		return reconcile.Result{RequeueAfter: time.Nanosecond}, nil
	default:
		return result, nil
	}
}

// look reads a ReplicaSet and its Pods. It returns nil if there's no such ReplicaSet.
//
// It reads the Pods first: this read may wait for the controller's last writes, and the ReplicaSet
// must not be older than they are. So it finds the Pods by the ReplicaSet's name, and the claim
// compares UIDs.
func (r *reconciler) look(ctx context.Context, name client.ObjectKey) (*sight, error) {
	if err := r.settle(ctx, name); err != nil {
		return nil, err
	}
	from, waits := r.cached, r.expectations.has(name)
	if waits {
		from = r.client
	}
	pods, err := r.list(ctx, from, name.Namespace, r.index.Of(name.Name))
	if err != nil {
		return nil, err
	}
	r.expectations.forget(name)
	// This list doesn't have to wait: the cache has what the first one waited for.
	orphans, err := r.list(ctx, r.cached, name.Namespace, r.index.Orphans())
	if err != nil {
		return nil, err
	}
	rs := &appsv1.ReplicaSet{}
	if err := r.client.Get(ctx, name, rs, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		r.unconfirmed.forget(name)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return r.claim(ctx, rs, together(pods, orphans), waits)
}

// together joins two lists. A Pod that lost its owner between the two reads is in both, and would
// count twice: together keeps the later state, the orphan.
func together(owned, orphans []*corev1.Pod) []*corev1.Pod {
	lost := make(map[types.UID]bool, len(orphans))
	for _, pod := range orphans {
		lost[pod.UID] = true
	}
	return append(
		slices.DeleteFunc(owned, func(pod *corev1.Pod) bool { return lost[pod.UID] }),
		orphans...)
}

func (r *reconciler) list(
	ctx context.Context, from client.Reader, namespace string, which client.MatchingFields,
) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := from.List(
		ctx, &list, client.InNamespace(namespace), which, client.UnsafeDisableDeepCopy,
	); err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// claim decides which of the Pods belong to the ReplicaSet. It adopts and releases only active
// Pods: a Pod that has finished, or is being deleted, keeps its owner.
//
// If there's a Pod to adopt or release, and the read hasn't waited for the controller's writes,
// claim reads again, and waits: this controller may have adopted the Pod for another ReplicaSet a
// moment ago.
func (r *reconciler) claim(
	ctx context.Context, rs *appsv1.ReplicaSet, pods []*corev1.Pod, waited bool,
) (*sight, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil, reconcile.TerminalError(fmt.Errorf("the selector: %w", err))
	}
	owner := &claim.Owner{Object: rs, Kind: kind, Selector: selector}
	seen := &sight{rs: rs}
	var candidates []*corev1.Pod
	writes := false
	for _, pod := range pods {
		switch {
		case podstate.IsActive(pod):
			candidates = append(candidates, pod)
			verdict := owner.Decide(pod)
			writes = writes || verdict == claim.Adopt || verdict == claim.Release
		case podstate.IsTerminating(pod) && owner.Decide(pod) == claim.Keep:
			seen.terminating = append(seen.terminating, pod)
		}
	}
	if writes {
		r.expectations.mark(client.ObjectKeyFromObject(rs))
		if !waited {
			return r.look(ctx, client.ObjectKeyFromObject(rs))
		}
	}
	slices.SortFunc(candidates, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	seen.active, err = claim.Claim(ctx, r.client, owner, candidates, claim.StillWants(rs, r.live))
	if err != nil {
		return nil, err
	}
	return seen, nil
}

// act creates or deletes Pods, and returns the failure, if any.
func (r *reconciler) act(ctx context.Context, seen *sight) *failure {
	r.expectations.mark(client.ObjectKeyFromObject(seen.rs))
	todo := changeTo(seen.want(), len(seen.active), r.burst)
	if todo.create > 0 {
		if err := r.createPods(ctx, seen.rs, todo.create); err != nil {
			return &failure{failedCreate, err}
		}
		return nil
	}
	related, err := r.related(ctx, seen)
	if err == nil {
		now := time.Now()
		chosen := firstToGo(seen.active, related, todo.remove, now)
		if len(chosen) < len(seen.active) { // if all are chosen, there was no choice to measure
			for _, ratio := range ageRatios(seen.active, chosen, now) {
				deletionAgeRatio.Observe(ratio)
			}
		}
		err = r.deletePods(ctx, seen.rs, chosen)
	}
	if err != nil {
		return &failure{failedDelete, err}
	}
	return nil
}

// related returns the Pods of all ReplicaSets with the same controller: during a rollout, the old
// ReplicaSet's Pods count when the ranking asks how crowded a node is.
func (r *reconciler) related(ctx context.Context, seen *sight) ([]*corev1.Pod, error) {
	controller := metav1.GetControllerOfNoCopy(seen.rs)
	if controller == nil {
		return seen.active, nil
	}
	var sets appsv1.ReplicaSetList
	if err := r.cached.List(
		ctx, &sets, client.InNamespace(seen.rs.Namespace), client.UnsafeDisableDeepCopy,
	); err != nil {
		return nil, err
	}
	related := slices.Clone(seen.active)
	for i := range sets.Items {
		sibling := &sets.Items[i]
		if sibling.UID == seen.rs.UID ||
			!metav1.IsControlledBy(sibling, &metav1.ObjectMeta{UID: controller.UID}) {
			continue
		}
		pods, err := r.list(ctx, r.cached, sibling.Namespace, r.index.Of(sibling.Name))
		if err != nil {
			return nil, err
		}
		related = append(related, pods...)
	}
	return related, nil
}

// report writes the status, unless the ReplicaSet has it already. The result says when to reconcile
// again.
func (r *reconciler) report(
	ctx context.Context, seen *sight, failed *failure,
) (reconcile.Result, error) {
	now := time.Now()
	again := reconcile.Result{RequeueAfter: nextAvailable(seen.rs, seen.active, now)}
	status := statusOf(seen.rs, seen.active, seen.terminating, failed, now)
	if isWritten(seen.rs, status, r.dropsTerminating.Load()) {
		return again, nil
	}
	written := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: seen.rs.Namespace, Name: seen.rs.Name},
	}
	err := r.client.Status().Patch(ctx, written, statusPatch(seen.rs.UID, status))
	if client.IsAbsent(err, client.ObjectKeyFromObject(seen.rs)) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.dropsTerminating.Store(written.Status.TerminatingReplicas == nil)
	return again, nil
}

// statusPatch replaces the status of the ReplicaSet with this UID. The patch has every field, so
// the old status doesn't matter. It has no resourceVersion, so it doesn't fail if a user scales
// the ReplicaSet meanwhile; observedGeneration says which spec the numbers belong to.
func statusPatch(uid types.UID, status appsv1.ReplicaSetStatus) client.Patch {
	var conditions any // null in a merge patch deletes them
	if len(status.Conditions) > 0 {
		conditions = status.Conditions
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid},
		"status": map[string]any{
			"replicas":             status.Replicas,
			"fullyLabeledReplicas": status.FullyLabeledReplicas,
			"readyReplicas":        status.ReadyReplicas,
			"availableReplicas":    status.AvailableReplicas,
			"terminatingReplicas":  status.TerminatingReplicas,
			"observedGeneration":   status.ObservedGeneration,
			"conditions":           conditions,
		},
	})
	if err != nil {
		panic(fmt.Sprintf("replicaset: a status cannot be written as JSON: %v", err))
	}
	return client.RawPatch(types.MergePatchType, data)
}
