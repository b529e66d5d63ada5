package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// quiet is for how long nothing may change when all that can be seen is done.
	quiet = 250 * time.Millisecond
	// patience is for how long a step may take.
	patience = time.Minute
	// soon is the longest time that a scenario waits for: for minReadySeconds, or for a progress deadline.
	soon = 20 * time.Second
)

// Settle waits until everybody has done their work: until nothing is open, and nothing changes any more while the
// controllers answer a pulse. So a busy machine makes the wait longer, and not the answer wrong.
func (s *Stage) Settle(ctx context.Context) error {
	begin := time.Now()
	s.mu.Lock()
	s.last = begin
	s.mu.Unlock()
	for {
		s.mu.Lock()
		last, err := s.last, s.err
		s.mu.Unlock()
		var open []string
		if time.Since(last) >= quiet {
			open = Open(s.Objects(), time.Now())
		}
		switch {
		case err != nil || s.world.Err() != nil:
			return errors.Join(err, s.world.Err())
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case len(open) == 0 && time.Since(last) >= quiet:
			if done, err := s.hasSettled(ctx, last); done || err != nil {
				return err
			}
		case time.Since(begin) > patience:
			return fmt.Errorf("after %v, nothing has changed for %v, and this is open: %s", patience, time.Since(last).Round(time.Millisecond), strings.Join(open, "; "))
		}
		time.Sleep(quiet / 5)
	}
}

// hasSettled reports whether nothing has changed since the moment, after all controllers have shown that they have come
// round, and whether the watches have shown all there is.
func (s *Stage) hasSettled(ctx context.Context, since time.Time) (bool, error) {
	if err := s.world.pulse(ctx); err != nil {
		return false, err
	}
	current, err := s.isCurrent(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || !current || s.last != since {
		return false, err
	}
	s.markLocked()
	return true, nil
}

// markLocked notes that all that has happened up to now has settled.
func (s *Stage) markLocked() {
	var newest uint64
	for _, change := range s.log {
		newest = max(newest, change.Version)
	}
	s.marks = append(s.marks, newest)
}

// Open lists what somebody still has to do. What it cannot see, such as whether a rollout goes on, shows as changes.
func Open(objects []Object, now time.Time) (open []string) {
	v := view{uids: map[types.UID]bool{}, now: now}
	for _, object := range objects {
		v.uids[object.GetUID()] = true
		switch o := object.(type) {
		case *corev1.Pod:
			v.pods = append(v.pods, o)
		case *appsv1.ReplicaSet:
			v.sets = append(v.sets, o)
		}
	}
	for _, object := range objects {
		if why := v.openOf(object); why != "" {
			open = append(open, fmt.Sprintf("%T %s: %s", object, object.GetName(), why))
		}
	}
	return open
}

// view is what one look at a namespace has seen.
type view struct {
	uids map[types.UID]bool
	pods []*corev1.Pod
	sets []*appsv1.ReplicaSet
	now  time.Time
}

func (v view) openOf(object Object) string {
	if object.GetDeletionTimestamp() != nil && slices.ContainsFunc(object.GetFinalizers(), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents && !v.holds(object) || name == metav1.FinalizerOrphanDependents
	}) {
		return "the garbage collector has to see to what it owns"
	}
	for _, owner := range object.GetOwnerReferences() {
		if !v.uids[owner.UID] && object.GetDeletionTimestamp() == nil {
			return "the owner " + owner.Name + " is gone"
		}
	}
	switch o := object.(type) {
	case *corev1.Pod:
		return v.openOfPod(o)
	case *appsv1.ReplicaSet:
		return v.openOfSet(o)
	case *appsv1.Deployment:
		return v.openOfDeployment(o)
	}
	return ""
}

// holds reports whether something that the object owns is being deleted and waits for the scenario.
func (v view) holds(object Object) bool {
	owned := func(o Object) bool {
		return o.GetDeletionTimestamp() != nil && slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == object.GetUID() })
	}
	return slices.ContainsFunc(v.pods, func(p *corev1.Pod) bool { return owned(p) && duty(p) == nothing }) ||
		slices.ContainsFunc(v.sets, func(s *appsv1.ReplicaSet) bool { return owned(s) && v.holds(s) })
}

func (v view) openOfPod(pod *corev1.Pod) string {
	switch {
	case duty(pod) != nothing:
		return "the kubelet has to act"
	case pod.Spec.NodeName == "" && active(pod) && !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }):
		return "nobody has tried to schedule it"
	}
	return ""
}

func (v view) openOfSet(set *appsv1.ReplicaSet) string {
	var have appsv1.ReplicaSetStatus
	var terminating int32
	minReady := time.Duration(set.Spec.MinReadySeconds) * time.Second
	for _, pod := range v.pods {
		if metav1.IsControlledBy(pod, set) && !finished(pod) && pod.DeletionTimestamp != nil {
			terminating++
		}
		if !metav1.IsControlledBy(pod, set) || !active(pod) {
			continue
		}
		have.Replicas++
		if !ready(pod) {
			continue
		}
		have.ReadyReplicas++
		if minReady <= soon || !v.now.Before(since(pod).Add(minReady)) {
			have.AvailableReplicas++
		}
	}
	failed := slices.ContainsFunc(set.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure })
	switch is := set.Status; {
	case is.ObservedGeneration < set.Generation:
		return "nobody has observed its generation"
	case is.Replicas != have.Replicas || is.ReadyReplicas != have.ReadyReplicas || is.AvailableReplicas != have.AvailableReplicas:
		return fmt.Sprintf("the status says %d, %d, %d, and there are %d, %d, %d",
			is.Replicas, is.ReadyReplicas, is.AvailableReplicas, have.Replicas, have.ReadyReplicas, have.AvailableReplicas)
	case is.TerminatingReplicas != nil && *is.TerminatingReplicas != terminating:
		return fmt.Sprintf("the status says that %d end, and there are %d", *is.TerminatingReplicas, terminating)
	case set.DeletionTimestamp == nil && have.Replicas != *set.Spec.Replicas && !failed:
		return fmt.Sprintf("%d Pods are wanted, and there are %d", *set.Spec.Replicas, have.Replicas)
	}
	return ""
}

func since(pod *corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func (v view) openOfDeployment(d *appsv1.Deployment) string {
	var have appsv1.DeploymentStatus
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil || selector.Empty() || d.DeletionTimestamp != nil {
		return ""
	}
	for _, set := range v.sets {
		if metav1.IsControlledBy(set, d) {
			have.Replicas += set.Status.Replicas
			have.ReadyReplicas += set.Status.ReadyReplicas
			have.AvailableReplicas += set.Status.AvailableReplicas
		}
	}
	switch is := d.Status; {
	case is.ObservedGeneration < d.Generation:
		return "nobody has observed its generation"
	case is.Replicas != have.Replicas || is.ReadyReplicas != have.ReadyReplicas || is.AvailableReplicas != have.AvailableReplicas:
		return fmt.Sprintf("the status says %d, %d, %d, and its ReplicaSets say %d, %d, %d",
			is.Replicas, is.ReadyReplicas, is.AvailableReplicas, have.Replicas, have.ReadyReplicas, have.AvailableReplicas)
	case !d.Spec.Paused && d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType && !v.hasSetFor(d):
		return "no ReplicaSet has its template"
	case v.deadlineIsNear(d):
		return "the progress deadline comes"
	}
	return ""
}

// hasSetFor reports whether there is a ReplicaSet with the template of a Deployment.
func (v view) hasSetFor(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(v.sets, func(set *appsv1.ReplicaSet) bool {
		template := set.Spec.Template.DeepCopy()
		if d.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == "" {
			delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		}
		return metav1.IsControlledBy(set, d) && equality.Semantic.DeepEqual(*template, d.Spec.Template)
	})
}

// deadlineIsNear reports whether a rollout is neither done nor given up, and will be given up soon.
func (v view) deadlineIsNear(d *appsv1.Deployment) bool {
	limit := d.Spec.ProgressDeadlineSeconds
	if limit == nil || time.Duration(*limit)*time.Second > soon || d.Spec.Paused {
		return false
	}
	if d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.Replicas == *d.Spec.Replicas && d.Status.AvailableReplicas == *d.Spec.Replicas {
		return false
	}
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionTrue && c.Reason != "NewReplicaSetAvailable"
	})
}
