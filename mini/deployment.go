package mini

import (
	"cmp"
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the Progressing condition that the next reconcile looks at.
const (
	ReplicaSetUpdatedReason = "ReplicaSetUpdated" // there's progress
	NewRSAvailableReason    = "NewReplicaSetAvailable"
	PausedDeployReason      = "DeploymentPaused"
)

type condition = appsv1.DeploymentCondition

// NewDeploymentController returns the controller with its watches. Add it to m.
func NewDeploymentController(m *Manager) (*Controller, error) {
	deployments := m.Informer(&appsv1.Deployment{})
	sets := m.Informer(&appsv1.ReplicaSet{})
	pods := m.Informer(&corev1.Pod{})
	c := m.NewController("deployment", 5, &Deployments{Client: m.Client})
	ofSet := EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind())
	setOf := EnqueueOwner(appsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind())
	c.Watch(deployments, EnqueueObject)
	c.Watch(sets, ofSet)
	c.Watch(sets, enqueueAdopters(deployments, func(d Object) *metav1.LabelSelector {
		return d.(*appsv1.Deployment).Spec.Selector
	}))
	// Recreate waits until the cache shows that the old Pods were deleted.
	c.Watch(pods, func(change Change) (all []Request) {
		for _, key := range setOf(change) {
			all = append(all, ofSet(Change{New: sets.Get(key)})...) // none if deleted
		}
		return all
	}, func(change Change) bool { return change.New == nil })
	return c, m.err
}

// Reconcile takes a Deployment one step further, and reports where it stands.
func (c *Deployments) Reconcile(ctx context.Context, req Request) (Result, error) {
	r, err := c.getRollout(ctx, req)
	if r == nil {
		return Result{}, err // nil if there's nothing to do
	}
	if err := c.scaleOrRoll(ctx, r); err != nil {
		return Result{}, err
	}
	now := metav1.Now().Rfc3339Copy() // in seconds, as the API server stores it
	status := deploymentStatus(r, now)
	if r.d.Spec.Paused || deploymentComplete(r.d, &status) {
		if err := c.cleanupDeployment(ctx, r); err != nil {
			return Result{}, err
		}
	}
	// No watch reports that a deadline has passed, so come back then.
	progress := getCondition(status.Conditions, appsv1.DeploymentProgressing)
	result := Result{RequeueAfter: progressDeadline(r.d, progress).Sub(now.Time)}
	return result, c.syncDeploymentStatus(ctx, r, status)
}

// syncDeploymentStatus writes the status and the revision if they've changed.
func (c *Deployments) syncDeploymentStatus(
	ctx context.Context, r *rollout, status appsv1.DeploymentStatus,
) error {
	d := r.d.DeepCopy()
	d.Status = status
	if r.newRS != nil {
		revision := r.newRS.Annotations[RevisionAnnotation]
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, RevisionAnnotation, revision)
	}
	if equality.Semantic.DeepEqual(d, r.d) {
		return nil // each write would call us again
	}
	return IgnoreNotFound(c.Client.UpdateStatus(ctx, d))
}

// deploymentStatus adds up what the ReplicaSets report.
func deploymentStatus(r *rollout, now metav1.Time) (status appsv1.DeploymentStatus) {
	status.ObservedGeneration = r.d.Generation
	status.CollisionCount = r.d.Status.CollisionCount
	for _, rs := range r.allRSs() {
		status.Replicas += rs.Status.Replicas
		status.ReadyReplicas += rs.Status.ReadyReplicas
		status.AvailableReplicas += rs.Status.AvailableReplicas
		if rs == r.newRS {
			status.UpdatedReplicas = rs.Status.Replicas
		}
	}
	missing := specReplicas(r.allRSs()...) - status.AvailableReplicas
	status.UnavailableReplicas = max(missing, 0)
	for _, c := range []condition{
		availableCondition(r.d, status.AvailableReplicas),
		progressingCondition(r, &status, now),
	} {
		was := getCondition(r.d.Status.Conditions, c.Type)
		status.Conditions = append(status.Conditions, withTimes(c, was, now))
	}
	return status
}

// getCondition returns the condition of this type, or the zero value if there's none.
func getCondition(all []condition, kind appsv1.DeploymentConditionType) condition {
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	return condition{}
}

// withTimes keeps the times of a condition that hasn't changed. Progress is an exception,
// because each bit of it moves the deadline.
func withTimes(c, was condition, now metav1.Time) condition {
	if c == was || c.Reason == was.Reason && c.Reason != ReplicaSetUpdatedReason {
		return was
	}
	c.LastUpdateTime, c.LastTransitionTime = now, now
	if c.Status == was.Status {
		c.LastTransitionTime = was.LastTransitionTime
	}
	return c
}

func availableCondition(d *appsv1.Deployment, available int32) (c condition) {
	c.Type = appsv1.DeploymentAvailable
	c.Status, c.Reason = corev1.ConditionFalse, "MinimumReplicasUnavailable"
	if available >= *d.Spec.Replicas-MaxUnavailable(d) {
		c.Status, c.Reason = corev1.ConditionTrue, "MinimumReplicasAvailable"
	}
	return c
}

// progressingCondition says whether the rollout makes progress. It stays as it was until
// there's a reason to change it.
func progressingCondition(
	r *rollout, status *appsv1.DeploymentStatus, now metav1.Time,
) (c condition) {
	was := getCondition(r.d.Status.Conditions, appsv1.DeploymentProgressing)
	c.Type, c.Status = appsv1.DeploymentProgressing, corev1.ConditionTrue
	switch {
	case r.d.Spec.Paused:
		c.Status, c.Reason = corev1.ConditionUnknown, PausedDeployReason
	case was.Reason == PausedDeployReason: // the deadline starts over
		c.Status, c.Reason = corev1.ConditionUnknown, "DeploymentResumed"
	case was.Reason == "" || r.newRS != nil && Revision(r.newRS) != Revision(r.d):
		c.Reason = ReplicaSetUpdatedReason // a rollout has begun
	case was.Reason == NewRSAvailableReason && status.Replicas == status.UpdatedReplicas:
		return was // it's over: Pods that fail later don't start a new one
	case deploymentComplete(r.d, status):
		c.Reason = NewRSAvailableReason
	case deploymentProgressing(&r.d.Status, status):
		c.Reason = ReplicaSetUpdatedReason
	case was.Reason != NewRSAvailableReason && // which has no deadline
		!now.Time.Before(progressDeadline(r.d, was)):
		c.Status, c.Reason = corev1.ConditionFalse, "ProgressDeadlineExceeded"
	default:
		return was
	}
	return c
}

// progressDeadline returns when the rollout counts as stuck if there's no progress until
// then.
func progressDeadline(d *appsv1.Deployment, was condition) time.Time {
	seconds := time.Duration(*d.Spec.ProgressDeadlineSeconds)
	return was.LastUpdateTime.Add(seconds * time.Second)
}

// deploymentComplete returns true if all new Pods are available and no old one is left.
func deploymentComplete(d *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	return status.UpdatedReplicas == *d.Spec.Replicas &&
		status.Replicas == status.UpdatedReplicas &&
		status.AvailableReplicas == status.Replicas
}

// deploymentProgressing returns true if there are more new Pods, fewer old ones, or more
// that are ready or available.
func deploymentProgressing(before, after *appsv1.DeploymentStatus) bool {
	return after.UpdatedReplicas > before.UpdatedReplicas ||
		after.Replicas-after.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		after.ReadyReplicas > before.ReadyReplicas ||
		after.AvailableReplicas > before.AvailableReplicas
}

// cleanupDeployment deletes the oldest revisions, and keeps the number that the user
// wants to be able to roll back to. It never deletes a ReplicaSet that has Pods or may
// get some.
func (c *Deployments) cleanupDeployment(ctx context.Context, r *rollout) error {
	old := slices.SortedFunc(slices.Values(r.oldRSs), func(a, b *appsv1.ReplicaSet) int {
		return cmp.Compare(Revision(a), Revision(b))
	})
	for _, rs := range old[:max(len(old)-int(*r.d.Spec.RevisionHistoryLimit), 0)] {
		if *rs.Spec.Replicas > 0 || !settled(rs) {
			continue
		}
		// A conflict means that it has changed: a user may have scaled it up.
		unchanged := &metav1.Preconditions{
			UID: &rs.UID, ResourceVersion: &rs.ResourceVersion,
		}
		err := c.Client.Delete(ctx, rs, metav1.DeleteOptions{Preconditions: unchanged})
		if err != nil {
			return err
		}
	}
	return nil
}
