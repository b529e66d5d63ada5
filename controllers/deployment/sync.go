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

// turn is one reconcile of one Deployment. The family has what was written in this turn; the conditions and the revision
// are what will be reported.
type turn struct {
	*reconciler
	*family
	conditions conditions
	revision   string // "" is not known
	now        time.Time
	again      time.Duration // when to look again though nothing has happened; 0 is never
}

// run acts and reports, and notes when to look again. If a write fails, nothing is reported: the status says what was
// seen after the Deployment had been dealt with.
func (t *turn) run(ctx context.Context) error {
	if t.d.DeletionTimestamp != nil {
		return t.report(ctx, statusOf(t.family, t.conditions, t.now))
	}
	t.conditions = afterPause(t.conditions, t.d, t.now)
	if err := t.keepNewSet(ctx); err != nil {
		return err
	}
	if t.d.Spec.Paused || t.isScaled() {
		if err := t.scale(ctx); err != nil {
			return err
		}
	}
	revision, rollsBack := rollbackTo(t.d)
	if t.d.Spec.Paused {
		if !rollsBack { // or the revision that somebody wants to go back to might be deleted
			if err := t.cleanUp(ctx); err != nil {
				return err
			}
		}
		return t.report(ctx, statusOf(t.family, t.conditions, t.now))
	}
	if rollsBack {
		return t.rollBack(ctx, revision)
	}
	if err := t.roll(ctx); err != nil {
		return err
	}
	status := statusOf(t.family, t.conditions, t.now)
	status.Conditions = withFailure(withProgress(status.Conditions, t.family, status, t.now), t.family)
	if isComplete(t.d, status) {
		if err := t.cleanUp(ctx); err != nil {
			return err
		}
	}
	t.again = cmp.Or(t.again, nextCheck(t.d, status, t.now)) // if there are both, the first is sooner
	return t.report(ctx, status)
}

// roll does what the strategy says.
func (t *turn) roll(ctx context.Context) error {
	switch strategy := t.d.Spec.Strategy.Type; strategy {
	case appsv1.RollingUpdateDeploymentStrategyType:
		return t.rollOn(ctx)
	case appsv1.RecreateDeploymentStrategyType:
		return t.recreate(ctx)
	default:
		return fmt.Errorf("unknown strategy %q", strategy)
	}
}

// rollOn goes as far as the limits allow: some new Pods come, some old ones go, and that may make room for new ones.
// After that, Pods have to become available first. Each ReplicaSet is written before the next is decided on, so that the
// limits hold if the process dies in between.
func (t *turn) rollOn(ctx context.Context) error {
	l := limitsOf(&t.d.Spec)
	if err := t.grow(ctx, l); err != nil {
		return err
	}
	newSet, oldSets := t.sizes()
	for i, to := range oldSizes(l, newSet, oldSets) {
		if err := t.resize(ctx, t.oldSets[i], to, false); err != nil {
			return err
		}
	}
	return t.grow(ctx, l)
}

func (t *turn) grow(ctx context.Context, l limits) error {
	newSet, oldSets := t.sizes()
	to := newSize(l, newSet, oldSets)
	if t.newSet == nil {
		return t.create(ctx, to)
	}
	return t.resize(ctx, t.newSet, to, false)
}

// keepNewSet brings the annotations, the revision and the minReadySeconds of the new ReplicaSet up to date, if there is
// one, and notes the revision.
func (t *turn) keepNewSet(ctx context.Context) error {
	if t.newSet == nil {
		return nil
	}
	after := t.newSet.DeepCopy()
	after.Annotations = annotationsFor(t.d, after.Annotations, highestRevision(t.oldSets)+1)
	after.Spec.MinReadySeconds = t.d.Spec.MinReadySeconds
	if err := t.change(ctx, t.newSet, after); err != nil {
		return err
	}
	t.revision = t.newSet.Annotations[revisionAnnotation]
	if t.begins(t.conditions, t.revision) {
		t.conditions = atStart(t.conditions, t.d, foundNewSet, t.newSet.Name, t.now)
	}
	return nil
}

// scale gives all ReplicaSets the sizes that they should have in a Deployment of another size.
func (t *turn) scale(ctx context.Context) error {
	sizes := t.scaledSizes()
	remembers := len(sizes) > 1 || t.isScaled()
	for _, one := range sizes {
		if err := t.resize(ctx, one.rs, one.to, remembers); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp deletes the ReplicaSets that the history has no room for. One that has changed since is not deleted:
// somebody may be rolling back to it.
func (t *turn) cleanUp(ctx context.Context) error {
	for _, rs := range expired(t.d, t.oldSets) {
		target := &appsv1.ReplicaSet{}
		target.Namespace, target.Name, target.UID = rs.Namespace, rs.Name, rs.UID
		err := t.client.Delete(ctx, target, client.Preconditions{UID: &rs.UID, ResourceVersion: &rs.ResourceVersion})
		if err != nil {
			t.doubts.add(client.ObjectKeyFromObject(t.d), rs.Name)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the old ReplicaSet %s: %w", rs.Name, err)
		}
	}
	return nil
}

// create creates the new ReplicaSet. If the Deployment has had one before, the server is asked first whether the Deployment
// is still there: with a deletion, the end of the ReplicaSet may be seen before the end of its owner.
func (t *turn) create(ctx context.Context, replicas int32) error {
	if t.d.Status.ObservedGeneration > 0 {
		switch isThere, err := claim.IsThere(ctx, t.live, t.d); {
		case err != nil:
			return err
		case !isThere:
			return errGone
		}
	}
	rs := newReplicaSet(t.d, replicas, highestRevision(t.oldSets)+1)
	name := rs.Name
	switch err := t.client.Create(ctx, rs); {
	case err == nil:
		t.newSet, t.revision = rs, rs.Annotations[revisionAnnotation]
		t.conditions = atStart(t.conditions, t.d, createdNewSet, name, t.now)
		if replicas > 0 {
			t.tellScaled(rs, 0, replicas)
		}
		return nil
	case apierrors.IsAlreadyExists(err):
		return t.collide(ctx, name)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return errNamespaceEnds
	default:
		t.doubts.add(client.ObjectKeyFromObject(t.d), name)
		return t.notCreated(ctx, name, err)
	}
}

// notCreated shows users why there is no ReplicaSet.
func (t *turn) notCreated(ctx context.Context, name string, err error) error {
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, err)
	t.events.Eventf(t.d, nil, corev1.EventTypeWarning, notCreated, "Create", "%s", message)
	err = fmt.Errorf("creating the ReplicaSet %s: %w", name, err)
	if hasDeadline(t.d) {
		status := *t.d.Status.DeepCopy()
		status.Conditions = t.conditions.with(progressing(corev1.ConditionFalse, notCreated, message, t.now))
		if failed := t.report(ctx, status); failed != nil {
			err = fmt.Errorf("%w; and then, writing that into the status: %w", err, failed)
		}
	}
	return err
}
