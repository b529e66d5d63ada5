package mini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ReplicaSets is the ReplicaSet controller.
//
// Guarantees: once the API server has confirmed a Pod, the controller never creates it a
// second time because its cache is late. The cached client waits until the cache shows
// what was confirmed, so this controller doesn't need expectations: the original counts
// the Pods that it has yet to see, in memory. A new process has nothing to wait for,
// because its first list shows what the old one has created.
//
// Caveats: if the answer to a creation is lost, the client doesn't know that there's a
// Pod to wait for, and the next try may create another one. That's one too many, until
// the cache shows both and a reconcile deletes one. The same happens if a process ends
// just after sending a creation, and the API server carries it out after the new
// process's first list. That's rare, because the new process first waits for the lease.
type ReplicaSets struct {
	Client *CachedClient

	// Burst is how many Pods one reconcile creates or deletes at most; 0 means 500. A
	// huge ReplicaSet mustn't keep a worker from all others.
	Burst int
}

// NewReplicaSetController returns the controller with its watches. Add it to m.
func NewReplicaSetController(m *Manager) (*Controller, error) {
	sets := m.Informer(&appsv1.ReplicaSet{})
	pods := m.Informer(&corev1.Pod{})
	c := m.NewController("replicaset", 5, &ReplicaSets{Client: m.Client})
	c.Watch(sets, EnqueueObject)
	c.Watch(pods, EnqueueOwner(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}))
	c.Watch(pods, enqueueAdopters(sets, func(set Object) *metav1.LabelSelector {
		return set.(*appsv1.ReplicaSet).Spec.Selector
	}))
	return c, m.err
}

// enqueueAdopters enqueues the owners that may adopt the object, if it's an orphan.
func enqueueAdopters(
	owners *SharedInformer, selectorOf func(Object) *metav1.LabelSelector,
) EventHandler {
	return EnqueueMapped(func(obj Object) (all []Request) {
		if metav1.GetControllerOfNoCopy(obj) != nil {
			return nil
		}
		near, _ := owners.ByIndex(ByNamespace, obj.GetNamespace()) // it has the index
		for _, owner := range near {
			selector, err := metav1.LabelSelectorAsSelector(selectorOf(owner))
			if err == nil && selector.Matches(labels.Set(obj.GetLabels())) {
				all = append(all, KeyOf(owner))
			}
		}
		return all
	})
}

// Reconcile brings one ReplicaSet closer to the number of Pods that it wants.
func (r *ReplicaSets) Reconcile(ctx context.Context, req Request) (Result, error) {
	rs, err := Get[*appsv1.ReplicaSet](ctx, r.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err) // the garbage collector deletes its Pods
	}
	active, terminating, err := r.claimPods(ctx, rs)
	if err != nil {
		return Result{}, err
	}
	var failure error
	if rs.DeletionTimestamp == nil { // otherwise the garbage collector is at work
		failure = r.manageReplicas(ctx, rs, active)
	}
	status, next := calculateStatus(rs, active, terminating, failure, time.Now())
	if !equality.Semantic.DeepEqual(rs.Status, status) { // a write calls us again
		rs.Status = status
		err := r.Client.UpdateStatus(ctx, rs)
		failure = errors.Join(failure, IgnoreNotFound(err)) // deleted a moment ago
	}
	return Result{RequeueAfter: next}, failure
}

// claimPods returns the Pods that count, and how many others are still ending.
func (r *ReplicaSets) claimPods(
	ctx context.Context, rs *appsv1.ReplicaSet,
) (active []*corev1.Pod, terminating int, err error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil, 0, TerminalError(fmt.Errorf("the selector of %s: %w", KeyOf(rs), err))
	}
	// All Pods of the namespace: Claim also needs those that don't belong to the
	// ReplicaSet yet, and those that no longer match.
	pods, err := List[*corev1.Pod](ctx, r.Client, Selection{Namespace: rs.Namespace})
	if err != nil {
		return nil, 0, err
	}
	pods = slices.DeleteFunc(pods, isPodTerminal)
	claimed, err := Claim(ctx, r.Client, rs, selector, pods)
	if err != nil {
		return nil, 0, err
	}
	all := len(claimed)
	active = slices.DeleteFunc(claimed, isEnding)
	return active, all - len(active), nil
}

// manageReplicas creates the missing Pods, or deletes the surplus.
func (r *ReplicaSets) manageReplicas(
	ctx context.Context, rs *appsv1.ReplicaSet, active []*corev1.Pod,
) error {
	burst := cmp.Or(r.Burst, 500)
	diff := len(active) - int(*rs.Spec.Replicas)
	if diff <= 0 {
		return slowStartBatch(min(-diff, burst), func(int) error {
			return r.Client.Create(ctx, podFor(rs))
		})
	}
	doomed := GetPodsToDelete(active, min(diff, burst), time.Now())
	return inParallel(len(doomed), func(i int) error {
		err := r.Client.Delete(ctx, doomed[i], metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // deleted before; a conflict: another Pod has its name
		}
		return err
	})
}

// slowStartBatch calls fn with 0 to count-1, in batches that double: 1, 2, 4 and so on. A
// batch with a failure is the last one, because a quota that refuses one Pod would refuse
// 500.
func slowStartBatch(count int, fn func(i int) error) error {
	for begun, batch := 0, 1; begun < count; begun, batch = begun+batch, batch*2 {
		batch = min(batch, count-begun)
		err := inParallel(batch, func(i int) error { return fn(begun + i) })
		if err != nil {
			return err
		}
	}
	return nil
}

// inParallel calls fn with 0 to n-1 at the same time. It returns only one of the errors,
// because they're usually alike.
func inParallel(n int, fn func(i int) error) error {
	errs := make([]error, n) // each call has its own place, so they need no lock
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { errs[i] = fn(i) })
	}
	calls.Wait()
	return cmp.Or(errs...)
}

// calculateStatus returns the status, and the time until the next Pod becomes available,
// because no watch reports that. It's 0 if no Pod is about to.
func calculateStatus(
	rs *appsv1.ReplicaSet, active []*corev1.Pod, terminating int, failure error,
	now time.Time,
) (status appsv1.ReplicaSetStatus, next time.Duration) {
	status = appsv1.ReplicaSetStatus{
		ObservedGeneration: rs.Generation, Replicas: int32(len(active)),
		TerminatingReplicas: new(int32(terminating)),
		Conditions:          replicaFailure(rs, len(active), failure, now),
	}
	template := labels.Set(rs.Spec.Template.Labels).AsSelectorPreValidated()
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		since, ready := podReady(pod)
		if !ready {
			continue
		}
		status.ReadyReplicas++
		left := time.Duration(rs.Spec.MinReadySeconds)*time.Second - now.Sub(since)
		if left <= 0 {
			status.AvailableReplicas++
		} else if next == 0 || left < next {
			next = left
		}
	}
	return status, next
}

// replicaFailure returns the only condition that a ReplicaSet has, or none without a
// failure. The first failure stays: the next one may have other words, but it isn't news.
func replicaFailure(
	rs *appsv1.ReplicaSet, active int, failure error, now time.Time,
) []appsv1.ReplicaSetCondition {
	if failure == nil {
		return nil
	}
	if len(rs.Status.Conditions) > 0 {
		return rs.Status.Conditions
	}
	reason := "FailedCreate"
	if active > int(*rs.Spec.Replicas) {
		reason = "FailedDelete"
	}
	return []appsv1.ReplicaSetCondition{{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
		Reason: reason, Message: failure.Error(), LastTransitionTime: metav1.NewTime(now),
	}}
}
