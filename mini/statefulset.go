package mini

import (
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// StatefulSets is the StatefulSet controller.
//
// Guarantees: there are never two Pods with the same ordinal. A Pod that's ending keeps
// its name until the kubelet says that it has ended, and this controller never forces
// that.
//
// Caveats: if the Pod's node is dead, that may never happen, so the set waits. If you
// know that the machine is off, you can delete the Pod without a grace period.
type StatefulSets struct {
	Client *CachedClient
}

// NewStatefulSetController returns the controller with its watches. Add it to m.
func NewStatefulSetController(m *Manager) (*Controller, error) {
	sets := m.Informer(&appsv1.StatefulSet{})
	revisions := m.Informer(&appsv1.ControllerRevision{})
	pods := m.Informer(&corev1.Pod{})
	m.Informer(&corev1.PersistentVolumeClaim{}) // only for reading
	c := m.NewController("statefulset", 5, &StatefulSets{Client: m.Client})
	ofSet := EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind())
	c.Watch(sets, EnqueueObject)
	adopters := enqueueAdopters(sets, func(set Object) *metav1.LabelSelector {
		return set.(*appsv1.StatefulSet).Spec.Selector
	})
	c.Watch(revisions, ofSet)
	c.Watch(revisions, adopters)
	c.Watch(pods, ofSet)
	c.Watch(pods, adopters)
	return c, m.err
}

// Reconcile takes one StatefulSet a step further.
func (c *StatefulSets) Reconcile(ctx context.Context, req Request) (Result, error) {
	set, err := Get[*appsv1.StatefulSet](ctx, c.Client, req)
	if err != nil {
		return Result{}, IgnoreNotFound(err)
	}
	if set.DeletionTimestamp != nil {
		return Result{}, nil // the garbage collector is at work
	}
	collisions := ptr.Deref(set.Status.CollisionCount, 0)
	revisions, err := syncHistory(
		ctx, c.Client, set, set.Spec.Selector, &set.Spec.Template, &collisions)
	if err != nil {
		return Result{}, err
	}
	pods, err := c.claimPods(ctx, set)
	if err != nil {
		return Result{}, err
	}
	nameOf := func(rev *appsv1.ControllerRevision) string { return rev.Name }
	if err := revisions.dedup(ctx, c.Client, pods, nameOf); err != nil {
		return Result{}, err
	}
	s := newStateful(set, revisions, pods, time.Now())
	failure := c.syncMembers(ctx, s)
	if failure == nil {
		failure = c.carryOut(ctx, s, s.decide())
	}
	status, next := s.status()
	status.CollisionCount = &collisions
	if !equality.Semantic.DeepEqual(set.Status, status) { // a write calls us again
		set.Status = status
		err := c.Client.UpdateStatus(ctx, set)
		failure = errors.Join(failure, IgnoreNotFound(err)) // deleted a moment ago
	}
	err = truncateHistory(ctx, c.Client, s.old, pods, set.Spec.RevisionHistoryLimit)
	return Result{RequeueAfter: next}, errors.Join(failure, err)
}

// claimPods returns the StatefulSet's Pods. It leaves out Pods that don't have a member's
// name, even if the selector matches them.
func (c *StatefulSets) claimPods(
	ctx context.Context, set *appsv1.StatefulSet,
) ([]*corev1.Pod, error) {
	selector, _ := metav1.LabelSelectorAsSelector(set.Spec.Selector) // checked already
	pods, err := List[*corev1.Pod](ctx, c.Client, Selection{Namespace: set.Namespace})
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return ordinalOf(set, pod) < 0
	})
	return Claim(ctx, c.Client, set, selector, pods)
}

// syncMembers gives the existing Pods what they've lost or never had: an adopted Pod may
// lack its labels, a claim may be missing, or the policy may have changed.
func (c *StatefulSets) syncMembers(ctx context.Context, s *stateful) error {
	for _, pod := range s.pods {
		if setIdentity(pod, ordinalOf(s.set, pod)) {
			if err := c.Client.Update(ctx, pod); err != nil {
				return err
			}
		}
		condemned := slices.Contains(s.condemned, pod)
		if err := syncClaims(ctx, c.Client, s.set, pod, condemned); err != nil {
			return err
		}
	}
	return nil
}

// carryOut creates and deletes Pods. It creates a Pod's claims before the Pod.
func (c *StatefulSets) carryOut(
	ctx context.Context, s *stateful, plan statefulPlan,
) error {
	return errors.Join(
		slowStartBatch(len(plan.create), func(i int) error {
			pod, err := s.newPod(plan.create[i])
			if err != nil {
				return err
			}
			if err := syncClaims(ctx, c.Client, s.set, pod, false); err != nil {
				return err
			}
			return c.Client.Create(ctx, pod)
		}),
		deletePods(ctx, c.Client, plan.remove))
}
