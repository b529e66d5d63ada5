package mini

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	replicas  []*corev1.Pod                // by index; nil: there's none
	condemned []*corev1.Pod                // beyond the size, highest ordinal first
	now       time.Time
}

// statefulPlan is the decision.
type statefulPlan struct {
	create []int         // indices in replicas
	remove []*corev1.Pod // delete these Pods
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

// decide returns what to do now. With the policy OrderedReady, that's one step: a Pod is
// created, deleted or replaced when all Pods with lower ordinals are available and none
// is ending.
//
// If a Pod isn't ready and has an old template, decide replaces it and doesn't wait for
// it. It may be the broken Pod of a rollout that the user has undone, and then it would
// never become ready.
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
		case isEnding(pod): // its name and its volumes aren't free yet
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
			break // one at a time, with either policy
		}
	}
	return plan
}

func (s *stateful) available(pod *corev1.Pod) bool {
	available, _ := podAvailable(pod, s.set.Spec.MinReadySeconds, s.now)
	return available && isServing(pod)
}

// isServing returns true if the Pod is ready, and neither ending nor over.
func isServing(pod *corev1.Pod) bool {
	_, ready := podReady(pod)
	return ready && !isEnding(pod) && !isPodTerminal(pod)
}

// outdated returns true if a Pod with the new template has to replace this one.
func (s *stateful) outdated(i int) bool {
	strategy := s.set.Spec.UpdateStrategy.Type
	return strategy == appsv1.RollingUpdateStatefulSetStrategyType &&
		i >= s.partition() && podRevision(s.replicas[i]) != s.update.Name
}

// partition returns the first index that gets the new template. A Pod below it gets the
// previous one, even if it has to be created again.
func (s *stateful) partition() int {
	rolling := ptr.Deref(s.set.Spec.UpdateStrategy.RollingUpdate,
		appsv1.RollingUpdateStatefulSetStrategy{})
	return int(ptr.Deref(rolling.Partition, 0))
}

// status returns the status, and the time until the next Pod becomes available, because
// no watch reports that. It's 0 if no Pod is about to.
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

// isRolloutOver returns true if all Pods have the new template and are ready. With size 0
// that's trivially true, but if there's a partition, Pods below it will need the old
// template.
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

// newPod returns the Pod with this index. When a Pod is replaced, its identity stays: its
// name, the name under which the Service publishes it, and its claims.
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
