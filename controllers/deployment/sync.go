package deployment

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/manager/client"
)

// deploymentSync is one reconcile of one Deployment. Its rollout shows each ReplicaSet as it was last written. The
// conditions and the revision are what will be reported.
type deploymentSync struct {
	*reconciler
	*rollout
	conditions conditions
	revision   string // "" is not known
	now        time.Time
	again      time.Duration // when to reconcile again although nothing has happened; 0 is never
}

// run acts, reports, and sets when to reconcile again. If a write fails, it reports nothing: the status describes what
// there is after the writes.
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
		if !rollsBack { // or the revision that somebody wants to go back to might be deleted
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
	status.Conditions = withFailure(withProgress(status.Conditions, s.rollout, status, s.now), s.rollout)
	if isComplete(s.d, status) {
		if err := s.cleanUp(ctx); err != nil {
			return err
		}
	}
	s.again = cmp.Or(s.again, nextCheck(s.d, status, s.now)) // if there are both, the first is sooner
	return s.report(ctx, status)
}

// roll does what the strategy says.
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

// rollOn goes as far as the limits allow: some new Pods come, some old ones go, and that may make room for new ones.
// After that, Pods have to become available first. Each ReplicaSet is written before the next is decided on, so that the
// limits hold if the process dies in between.
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

// syncNewReplicaSet brings the annotations, the revision and the minReadySeconds of the new ReplicaSet up to date, if there is
// one, and notes the revision.
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

// scale gives all ReplicaSets the sizes that they should have in a Deployment of another size.
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

// cleanUp deletes the ReplicaSets that the history has no room for. One that has changed since is not deleted:
// somebody may be rolling back to it.
func (s *deploymentSync) cleanUp(ctx context.Context) error {
	for _, rs := range expired(s.d, s.oldRSs) {
		target := &appsv1.ReplicaSet{}
		target.Namespace, target.Name, target.UID = rs.Namespace, rs.Name, rs.UID
		err := s.client.Delete(ctx, target, client.Preconditions{UID: &rs.UID, ResourceVersion: &rs.ResourceVersion})
		if err != nil {
			s.unconfirmed.add(client.ObjectKeyFromObject(s.d), rs.Name)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the old ReplicaSet %s: %w", rs.Name, err)
		}
	}
	return nil
}

// create creates the new ReplicaSet. If the Deployment has had one before, the server is asked first whether the Deployment
// is still there: with a deletion, the end of the ReplicaSet may be seen before the end of its owner.
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

// notCreated shows users why there is no ReplicaSet.
func (s *deploymentSync) notCreated(ctx context.Context, name string, err error) error {
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, err)
	s.events.Eventf(s.d, nil, corev1.EventTypeWarning, notCreated, "Create", "%s", message)
	err = fmt.Errorf("creating the ReplicaSet %s: %w", name, err)
	if hasDeadline(s.d) {
		status := *s.d.Status.DeepCopy()
		status.Conditions = s.conditions.with(progressing(corev1.ConditionFalse, notCreated, message, s.now))
		if failed := s.report(ctx, status); failed != nil {
			err = fmt.Errorf("%w; and then, writing that into the status: %w", err, failed)
		}
	}
	return err
}
