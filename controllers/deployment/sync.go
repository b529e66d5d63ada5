package deployment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/manager/client"
)

// deploymentSync is one reconcile of one Deployment. After each write, its rollout has the
// ReplicaSet that the API server returned. report writes the conditions and the revision.
type deploymentSync struct {
	*reconciler
	*rollout
	conditions conditions
	revision   string // "" if it isn't known
	now        time.Time
	again      time.Duration // reconcile again after this time even without an event; 0 is never
}

// run acts, writes the status, and sets again. If a write fails, it writes no status, because a
// status describes the ReplicaSets after all writes.
func (s *deploymentSync) run(ctx context.Context) error {
	if s.d.DeletionTimestamp != nil {
		return s.report(ctx, statusOf(s.rollout, s.conditions, s.now))
	}
	s.conditions = afterPause(s.conditions, s.d, s.now)
	if err := s.syncNewReplicaSet(ctx); err != nil {
		return err
	}
	if s.d.Spec.Paused || s.isScaled() {
		if err := s.scale(ctx); err != nil {
			return err
		}
	}
	revision, rollsBack := rollbackTo(s.d)
	if s.d.Spec.Paused {
		if !rollsBack { // or cleanUp might delete the revision to go back to
			if err := s.cleanUp(ctx); err != nil {
				return err
			}
		}
		return s.report(ctx, statusOf(s.rollout, s.conditions, s.now))
	}
	if rollsBack {
		return s.rollBack(ctx, revision)
	}
	if err := s.roll(ctx); err != nil {
		return err
	}
	status := statusOf(s.rollout, s.conditions, s.now)
	status.Conditions = withFailure(
		withProgress(status.Conditions, s.rollout, status, s.now), s.rollout)
	if isComplete(s.d, status) {
		if err := s.cleanUp(ctx); err != nil {
			return err
		}
	}
	s.again = cmp.Or(s.again, nextCheck(s.d, status, s.now)) // if both are set, the first is sooner
	return s.report(ctx, status)
}

// roll takes the rollout one step further, by the Deployment's strategy.
func (s *deploymentSync) roll(ctx context.Context) error {
	switch strategy := s.d.Spec.Strategy.Type; strategy {
	case appsv1.RollingUpdateDeploymentStrategyType:
		return s.rollOn(ctx)
	case appsv1.RecreateDeploymentStrategyType:
		return s.recreate(ctx)
	default:
		return fmt.Errorf("unknown strategy %q", strategy)
	}
}

// rollOn goes as far as the limits allow: it adds new Pods, removes old ones, and uses the room
// that this makes for more new ones. Then it waits for Pods to become available. It writes each
// ReplicaSet before it decides about the next, so that the limits hold even if the process dies in
// between.
func (s *deploymentSync) rollOn(ctx context.Context) error {
	l := limitsOf(&s.d.Spec)
	if err := s.grow(ctx, l); err != nil {
		return err
	}
	newRS, oldRSs := s.sizes()
	for i, to := range oldSizes(l, newRS, oldRSs) {
		if err := s.resize(ctx, s.oldRSs[i], to, false); err != nil {
			return err
		}
	}
	return s.grow(ctx, l)
}

func (s *deploymentSync) grow(ctx context.Context, l limits) error {
	newRS, oldRSs := s.sizes()
	to := newSize(l, newRS, oldRSs)
	if s.newRS == nil {
		return s.create(ctx, to)
	}
	return s.resize(ctx, s.newRS, to, false)
}

// syncNewReplicaSet copies the Deployment's annotations and minReadySeconds to the new ReplicaSet,
// if there's one, and updates its revision.
func (s *deploymentSync) syncNewReplicaSet(ctx context.Context) error {
	if s.newRS == nil {
		return nil
	}
	after := s.newRS.DeepCopy()
	after.Annotations = annotationsFor(s.d, after.Annotations, highestRevision(s.oldRSs)+1)
	after.Spec.MinReadySeconds = s.d.Spec.MinReadySeconds
	if err := s.change(ctx, s.newRS, after); err != nil {
		return err
	}
	s.revision = s.newRS.Annotations[revisionAnnotation]
	if s.begins(s.conditions, s.revision) {
		s.conditions = atStart(s.conditions, s.d, foundNewSet, s.newRS.Name, s.now)
	}
	return nil
}

// scale resizes the ReplicaSets of a Deployment that was scaled or is paused.
func (s *deploymentSync) scale(ctx context.Context) error {
	sizes := s.scaledSizes()
	remembers := len(sizes) > 1 || s.isScaled()
	for _, one := range sizes {
		if err := s.resize(ctx, one.rs, one.to, remembers); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp deletes the ReplicaSets beyond the revision history limit. The API server refuses to
// delete one that has changed since: a user may be rolling back to it.
func (s *deploymentSync) cleanUp(ctx context.Context) error {
	for _, rs := range expired(s.d, s.oldRSs) {
		target := &appsv1.ReplicaSet{}
		target.Namespace, target.Name, target.UID = rs.Namespace, rs.Name, rs.UID
		err := s.client.Delete(ctx, target,
			client.Preconditions{UID: &rs.UID, ResourceVersion: &rs.ResourceVersion})
		if err != nil {
			s.unconfirmed.add(client.ObjectKeyFromObject(s.d), rs.Name)
		}
		if err != nil && !client.IsAbsent(err, client.ObjectKeyFromObject(rs)) {
			return fmt.Errorf("deleting the old ReplicaSet %s: %w", rs.Name, err)
		}
	}
	return nil
}

// create creates the new ReplicaSet. If the Deployment was reconciled before, it first asks the API
// server whether the Deployment still exists: when a Deployment is deleted, the cache may see its
// ReplicaSet go first.
func (s *deploymentSync) create(ctx context.Context, replicas int32) error {
	if s.d.Status.ObservedGeneration > 0 {
		switch isThere, err := claim.IsThere(ctx, s.live, s.d); {
		case err != nil:
			return err
		case !isThere:
			return errGone
		}
	}
	rs := newReplicaSet(s.d, replicas, highestRevision(s.oldRSs)+1)
	name := rs.Name
	switch err := s.client.Create(ctx, rs); {
	case err == nil:
		s.newRS, s.revision = rs, rs.Annotations[revisionAnnotation]
		s.conditions = atStart(s.conditions, s.d, createdNewSet, name, s.now)
		if replicas > 0 {
			s.tellScaled(rs, 0, replicas)
		}
		return nil
	case apierrors.IsAlreadyExists(err):
		return s.collide(ctx, name)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return errNamespaceEnds
	default:
		s.unconfirmed.add(client.ObjectKeyFromObject(s.d), name)
		return s.notCreated(ctx, name, err)
	}
}

// notCreated shows users why the ReplicaSet couldn't be created: in an event and in the condition
// Progressing.
func (s *deploymentSync) notCreated(ctx context.Context, name string, err error) error {
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, err)
	s.events.Eventf(s.d, nil, corev1.EventTypeWarning, notCreated, "Create", "%s", message)
	err = fmt.Errorf("creating the ReplicaSet %s: %w", name, err)
	if hasDeadline(s.d) {
		status := *s.d.Status.DeepCopy()
		status.Conditions = s.conditions.with(
			progressing(corev1.ConditionFalse, notCreated, message, s.now))
		if failed := s.report(ctx, status); failed != nil {
			err = fmt.Errorf("%w; and then, writing that into the status: %w", err, failed)
		}
	}
	return err
}

// recreate creates no new Pod before the last old one has ended, for programs that must not run in
// two versions at once.
func (s *deploymentSync) recreate(ctx context.Context) error {
	for _, rs := range slices.Clone(s.oldRSs) {
		if err := s.resize(ctx, rs, 0, false); err != nil {
			return err
		}
	}
	for _, rs := range s.oldRSs {
		if runs, err := s.mayRun(ctx, rs); runs || err != nil {
			return err
		}
	}
	if s.newRS == nil {
		return s.create(ctx, s.desired())
	}
	return s.resize(ctx, s.newRS, s.desired(), false)
}

// mayRun reports whether Pods of a ReplicaSet may still be running, terminating ones included.
//
// It reads that from the ReplicaSet's status, if the status belongs to the current generation.
// Kubernetes' own controller counts Pods instead, and so keeps all Pods of the cluster in memory.
// If the ReplicaSet controller doesn't report terminating Pods, mayRun lists them from the API
// server.
func (s *deploymentSync) mayRun(ctx context.Context, rs *appsv1.ReplicaSet) (bool, error) {
	status := rs.Status
	switch {
	case status.Replicas > 0 || status.ObservedGeneration < rs.Generation:
		return true, nil
	case status.TerminatingReplicas != nil:
		return *status.TerminatingReplicas > 0, nil
	}
	runs, err := s.ask(ctx, rs)
	if runs {
		s.again = time.Second // no event will report their end
	}
	return runs, err
}

// ask asks the API server whether a ReplicaSet has Pods that haven't ended.
func (s *deploymentSync) ask(ctx context.Context, rs *appsv1.ReplicaSet) (bool, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return false, fmt.Errorf("the selector of the ReplicaSet %s: %w", rs.Name, err)
	}
	var pods corev1.PodList
	if err := s.live.List(
		ctx, &pods, client.InNamespace(rs.Namespace),
		client.MatchingLabelsSelector{Selector: selector},
	); err != nil {
		return false, fmt.Errorf("looking for Pods of the old ReplicaSet %s: %w", rs.Name, err)
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return metav1.IsControlledBy(&pod, rs) && pod.Status.Phase != corev1.PodSucceeded &&
			pod.Status.Phase != corev1.PodFailed
	}), nil
}
