package mini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// stateful is a StatefulSet and its Pods, about which one reconcile decides. It has no
// client.
type stateful struct {
	set       *appsv1.StatefulSet
	pods      []*corev1.Pod
	current   *appsv1.ControllerRevision   // of Pods that are created below the partition
	update    *appsv1.ControllerRevision   // of all others
	old       []*appsv1.ControllerRevision // neither of the two
	replicas  []*corev1.Pod                // by index; nil: there is none
	condemned []*corev1.Pod                // beyond the size, highest ordinal first
	now       time.Time
}

// statefulPlan is the decision.
type statefulPlan struct {
	create []int         // indices in replicas
	remove []*corev1.Pod // these Pods go
}

// newStateful sorts the Pods by their ordinals.
func newStateful(
	set *appsv1.StatefulSet, revisions history, pods []*corev1.Pod, now time.Time,
) *stateful {
	s := &stateful{
		set: set, current: revisions.update, update: revisions.update, pods: pods,
		replicas: make([]*corev1.Pod, *set.Spec.Replicas), now: now,
	}
	for _, rev := range revisions.old {
		if rev.Name == set.Status.CurrentRevision {
			s.current = rev
		} else {
			s.old = append(s.old, rev)
		}
	}
	for _, pod := range pods {
		i := ordinalOf(set, pod) - firstOrdinal(set)
		if i >= 0 && i < len(s.replicas) {
			s.replicas[i] = pod
		} else {
			s.condemned = append(s.condemned, pod)
		}
	}
	slices.SortFunc(s.condemned, func(a, b *corev1.Pod) int {
		return cmp.Compare(ordinalOf(set, b), ordinalOf(set, a))
	})
	return s
}

// decide returns what to do now. In order, that is one step: a Pod is created, deleted or
// replaced when all Pods with lower ordinals are available, and none is ending.
//
// A Pod that is not ready and has an old template is replaced, and not waited for. It may
// be the broken Pod of a rollout that the user has taken back, and never become ready.
func (s *stateful) decide() (plan statefulPlan) {
	ordered := s.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	whole := true
	for i, pod := range s.replicas {
		if s.available(pod) {
			continue
		}
		whole = false
		switch {
		case pod == nil:
			plan.create = append(plan.create, i)
		case isEnding(pod): // its name, and its volumes, are not free yet
		case isPodTerminal(pod), s.outdated(i) && !isServing(pod):
			plan.remove = append(plan.remove, pod)
		}
		if ordered {
			return plan
		}
	}
	for _, pod := range s.condemned {
		if !isEnding(pod) {
			plan.remove = append(plan.remove, pod)
		}
		if ordered {
			return plan
		}
	}
	for i, pod := range slices.Backward(s.replicas) {
		if whole && s.outdated(i) {
			plan.remove = append(plan.remove, pod)
			break // one at a time, in any case
		}
	}
	return plan
}

func (s *stateful) available(pod *corev1.Pod) bool {
	available, _ := podAvailable(pod, s.set.Spec.MinReadySeconds, s.now)
	return available && isServing(pod)
}

// isServing returns true if the Pod is ready, and is to stay so.
func isServing(pod *corev1.Pod) bool {
	_, ready := podReady(pod)
	return ready && !isEnding(pod) && !isPodTerminal(pod)
}

// outdated returns true if the Pod has to be replaced by one with the new template.
func (s *stateful) outdated(i int) bool {
	strategy := s.set.Spec.UpdateStrategy.Type
	return strategy == appsv1.RollingUpdateStatefulSetStrategyType &&
		i >= s.partition() && podRevision(s.replicas[i]) != s.update.Name
}

// partition returns the first index that gets the new template. A Pod below it gets the
// one that the set had before, even if it has to be created again.
func (s *stateful) partition() int {
	rolling := ptr.Deref(s.set.Spec.UpdateStrategy.RollingUpdate,
		appsv1.RollingUpdateStatefulSetStrategy{})
	return int(ptr.Deref(rolling.Partition, 0))
}

// status returns the status, and when a Pod will become available although nothing
// changes: 0 is never.
func (s *stateful) status() (status appsv1.StatefulSetStatus, next time.Duration) {
	status.ObservedGeneration = s.set.Generation
	status.CurrentRevision, status.UpdateRevision = s.current.Name, s.update.Name
	status.Replicas = int32(len(s.pods))
	for _, pod := range s.pods {
		if _, ready := podReady(pod); ready && !isPodTerminal(pod) {
			status.ReadyReplicas++
			available, left := podAvailable(pod, s.set.Spec.MinReadySeconds, s.now)
			if available {
				status.AvailableReplicas++
			}
			next = soonest(next, left)
		}
		if isEnding(pod) {
			continue
		}
		if podRevision(pod) == s.current.Name {
			status.CurrentReplicas++
		}
		if podRevision(pod) == s.update.Name {
			status.UpdatedReplicas++
		}
	}
	if s.isRolloutOver(status) {
		status.CurrentRevision = s.update.Name
		status.CurrentReplicas = status.UpdatedReplicas
	}
	return status, next
}

// isRolloutOver returns true if all Pods have the new template. If there is no Pod, all
// of none have it, but those below a partition will need the other one.
func (s *stateful) isRolloutOver(status appsv1.StatefulSetStatus) bool {
	size := *s.set.Spec.Replicas
	if size == 0 && s.partition() > 0 {
		return false
	}
	strategy := s.set.Spec.UpdateStrategy.Type
	return strategy == appsv1.RollingUpdateStatefulSetStrategyType &&
		status.Replicas == size && status.UpdatedReplicas == size &&
		status.ReadyReplicas == size
}

// newPod returns the Pod with this index. What it is to others stays the same when it is
// replaced: its name, the name under which the Service publishes it, and its claims.
func (s *stateful) newPod(i int) (*corev1.Pod, error) {
	rev := s.update
	if i < s.partition() {
		rev = s.current
	}
	template, err := templateOf(rev)
	if err != nil {
		return nil, fmt.Errorf("the template of %s: %w", KeyOf(rev), err)
	}
	pod, ordinal := podOf(s.set, "StatefulSet", template), firstOrdinal(s.set)+i
	pod.Name = nameWith(s.set.Name, ordinal)
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, s.set.Spec.ServiceName
	setIdentity(pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = rev.Name
	for _, template := range s.set.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes,
			func(v corev1.Volume) bool { return v.Name == template.Name })
		volume := corev1.Volume{Name: template.Name}
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: newClaim(s.set, template, ordinal).Name,
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
	return pod, nil
}

// StatefulSets is the StatefulSet controller.
//
// Guarantees: there are never two Pods with one ordinal. A Pod that is ending keeps its
// name until the kubelet says that it has ended, and this controller does not force it.
//
// Caveats: if its node is dead, that may be never, and the set waits. A user who knows
// that the machine is off can delete the Pod without a grace period.
type StatefulSets struct {
	Client *CachedClient
}

// NewStatefulSetController returns the controller with its watches. Add it to m.
func NewStatefulSetController(m *Manager) (*Controller, error) {
	sets := m.Informer(&appsv1.StatefulSet{})
	revisions := m.Informer(&appsv1.ControllerRevision{})
	pods := m.Informer(&corev1.Pod{})
	m.Informer(&corev1.PersistentVolumeClaim{}) // it is only read
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
	if !equality.Semantic.DeepEqual(set.Status, status) { // each write calls us again
		set.Status = status
		err := c.Client.UpdateStatus(ctx, set)
		failure = errors.Join(failure, IgnoreNotFound(err)) // deleted a moment ago
	}
	err = truncateHistory(ctx, c.Client, s.old, pods, set.Spec.RevisionHistoryLimit)
	return Result{RequeueAfter: next}, errors.Join(failure, err)
}

// claimPods returns the StatefulSet's Pods. A Pod without a member's name is none of
// them, even if the selector matches.
func (c *StatefulSets) claimPods(
	ctx context.Context, set *appsv1.StatefulSet,
) ([]*corev1.Pod, error) {
	selector, _ := metav1.LabelSelectorAsSelector(set.Spec.Selector) // syncHistory has
	pods, err := List[*corev1.Pod](ctx, c.Client, Selection{Namespace: set.Namespace})
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return ordinalOf(set, pod) < 0
	})
	return Claim(ctx, c.Client, set, selector, pods)
}

// syncMembers gives the Pods that exist what they have lost or never had: an adopted one
// may lack its labels, a claim may be missing, and a policy may have changed.
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

// carryOut creates and deletes Pods. A Pod's claims come before it does.
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
