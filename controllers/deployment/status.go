package deployment

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// statusOf adds up the statuses of the ReplicaSets, and sets the condition Available among c, the
// conditions so far.
func statusOf(r *rollout, c conditions, now time.Time) appsv1.DeploymentStatus {
	status := appsv1.DeploymentStatus{
		ObservedGeneration: r.d.Generation, CollisionCount: r.d.Status.CollisionCount,
		TerminatingReplicas: terminating(r.all()),
	}
	wanted := int32(0)
	for _, rs := range r.all() {
		wanted += replicasOf(rs.Spec.Replicas)
		status.Replicas += rs.Status.Replicas
		status.ReadyReplicas += rs.Status.ReadyReplicas
		status.AvailableReplicas += rs.Status.AvailableReplicas
	}
	if r.newRS != nil {
		status.UpdatedReplicas = r.newRS.Status.Replicas
	}
	status.UnavailableReplicas = max(wanted-status.AvailableReplicas, 0)
	status.Conditions = c.with(availability(r.d, status.AvailableReplicas, now))
	return status
}

func availability(d *appsv1.Deployment, available int32, now time.Time) appsv1.DeploymentCondition {
	l := limitsOf(&d.Spec)
	if available >= l.desired-l.unavailable {
		return condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, minimumAvailable,
			"Deployment has minimum availability.", now)
	}
	return condition(appsv1.DeploymentAvailable, corev1.ConditionFalse, minimumUnavailable,
		"Deployment does not have minimum availability.", now)
}

// terminating adds up the terminating Pods. It's nil if a ReplicaSet doesn't report their number,
// because a partial sum would be wrong. A ReplicaSet that was never reconciled has no Pods.
func terminating(sets []*appsv1.ReplicaSet) *int32 {
	sum := int32(0)
	for _, rs := range sets {
		switch {
		case rs.Status.TerminatingReplicas != nil:
			sum += *rs.Status.TerminatingReplicas
		case rs.Status.ObservedGeneration != 0:
			return nil
		}
	}
	return &sum
}

// isWritten reports whether the Deployment has the status and the revision already. If the API
// server drops terminatingReplicas, the comparison ignores a missing one.
func isWritten(
	d *appsv1.Deployment, status appsv1.DeploymentStatus, revision string, dropsTerminating bool,
) bool {
	has := d.Status
	if dropsTerminating && has.TerminatingReplicas == nil {
		has.TerminatingReplicas = status.TerminatingReplicas
	}
	return equality.Semantic.DeepEqual(has, status) &&
		(revision == "" || d.Annotations[revisionAnnotation] == revision)
}

// statusPatch replaces the status of the Deployment with this UID, and sets its revision, if there
// is one: the API server accepts annotations of a Deployment in a write of its status. The patch
// has every field, so the old status doesn't matter. It has no resourceVersion, so it doesn't
// fail if a user scales the Deployment meanwhile.
func statusPatch(
	d *appsv1.Deployment, status appsv1.DeploymentStatus, revision string,
) client.Patch {
	metadata := map[string]any{"uid": d.UID}
	if revision != "" && d.Annotations[revisionAnnotation] != revision {
		metadata["annotations"] = map[string]string{revisionAnnotation: revision}
	}
	var written any // null in a merge patch deletes them
	if len(status.Conditions) > 0 {
		written = status.Conditions
	}
	data, err := json.Marshal(map[string]any{
		"metadata": metadata,
		"status": map[string]any{
			"observedGeneration":  status.ObservedGeneration,
			"replicas":            status.Replicas,
			"updatedReplicas":     status.UpdatedReplicas,
			"readyReplicas":       status.ReadyReplicas,
			"availableReplicas":   status.AvailableReplicas,
			"unavailableReplicas": status.UnavailableReplicas,
			"terminatingReplicas": status.TerminatingReplicas,
			"collisionCount":      status.CollisionCount,
			"conditions":          written,
		},
	})
	if err != nil {
		panic(fmt.Sprintf("deployment: a status cannot be written as JSON: %v", err))
	}
	return client.RawPatch(types.MergePatchType, data)
}

// Reasons of the conditions Available and Progressing. kubectl rollout status fails if it reads
// timedOut.
const (
	minimumAvailable   = "MinimumReplicasAvailable"
	minimumUnavailable = "MinimumReplicasUnavailable"

	createdNewSet = "NewReplicaSetCreated"
	foundNewSet   = "FoundNewReplicaSet"
	notCreated    = "ReplicaSetCreateError"
	updated       = "ReplicaSetUpdated"
	completed     = "NewReplicaSetAvailable"
	timedOut      = "ProgressDeadlineExceeded"
	paused        = "DeploymentPaused"
	resumed       = "DeploymentResumed"
)

// conditions are those of a Deployment. The methods don't change them, but return new ones.
type conditions []appsv1.DeploymentCondition

func (c conditions) get(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range c {
		if c[i].Type == kind {
			return &c[i]
		}
	}
	return nil
}

func (c conditions) without(kind appsv1.DeploymentConditionType) conditions {
	return slices.DeleteFunc(slices.Clone(c), func(one appsv1.DeploymentCondition) bool {
		return one.Type == kind
	})
}

// with sets a condition, unless there's one with the same status and the same reason: a message
// that changes at each reconcile would cause a write at each reconcile. LastTransitionTime is when
// the condition's status last changed. The condition that was set comes last.
func (c conditions) with(next appsv1.DeploymentCondition) conditions {
	if before := c.get(next.Type); before != nil && before.Status == next.Status &&
		before.Reason == next.Reason {
		return c
	}
	return c.replace(next)
}

// replace is like with, but also sets a condition of which only the time or the message has
// changed.
func (c conditions) replace(next appsv1.DeploymentCondition) conditions {
	if before := c.get(next.Type); before != nil && before.Status == next.Status {
		next.LastTransitionTime = before.LastTransitionTime
	}
	return append(c.without(next.Type), next)
}

func condition(
	kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string,
	now time.Time,
) appsv1.DeploymentCondition {
	return appsv1.DeploymentCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastUpdateTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
	}
}

func progressing(
	status corev1.ConditionStatus, reason, message string, now time.Time,
) appsv1.DeploymentCondition {
	return condition(appsv1.DeploymentProgressing, status, reason, message, now)
}

// hasDeadline reports whether the Deployment has a progress deadline. Without one, it has no
// condition Progressing.
func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

// afterPause notes that a Deployment was paused or resumed, so that the pause doesn't count
// against the deadline. A rollout that has timed out stays timed out.
func afterPause(c conditions, d *appsv1.Deployment, now time.Time) conditions {
	before := c.get(appsv1.DeploymentProgressing)
	if !hasDeadline(d) || before != nil && before.Reason == timedOut {
		return c
	}
	switch {
	case d.Spec.Paused:
		return c.with(progressing(corev1.ConditionUnknown, paused, "Deployment is paused", now))
	case before != nil && before.Reason == paused:
		return c.with(progressing(corev1.ConditionUnknown, resumed, "Deployment is resumed", now))
	}
	return c
}

// atStart notes that a rollout begins. The deadline counts from now on.
func atStart(c conditions, d *appsv1.Deployment, reason, name string, now time.Time) conditions {
	if !hasDeadline(d) {
		return c
	}
	verb := "Created"
	if reason == foundNewSet {
		verb = "Found"
	}
	return c.with(progressing(corev1.ConditionTrue, reason,
		fmt.Sprintf("%s new replica set %q", verb, name), now))
}

// begins reports whether a rollout to the new ReplicaSet, which has this revision, has begun, but
// the conditions don't say so. This happens after a rollback, which finds its ReplicaSet instead
// of creating it, and if the process died between creating the ReplicaSet and writing the status.
//
// Kubernetes notes a found ReplicaSet only if there was no condition before. So after a rollback it
// still reports that the bad rollout exceeded its deadline, until the first Pod changes.
func (r *rollout) begins(c conditions, revision string) bool {
	last := c.get(appsv1.DeploymentProgressing)
	if last == nil {
		return true
	}
	return !r.d.Spec.Paused && r.d.Annotations[revisionAnnotation] != revision &&
		last.Message != r.successful()
}

// successful is the message of a complete rollout.
func (r *rollout) successful() string { return r.subject() + " has successfully progressed." }

func (r *rollout) subject() string {
	if r.newRS == nil {
		return fmt.Sprintf("Deployment %q", r.d.Name)
	}
	return fmt.Sprintf("ReplicaSet %q", r.newRS.Name)
}

// withProgress sets the condition Progressing. next is the new status; the Deployment in r still
// has the old one.
func withProgress(
	c conditions, r *rollout, next appsv1.DeploymentStatus, now time.Time,
) conditions {
	kind := appsv1.DeploymentProgressing
	if !hasDeadline(r.d) {
		return c.without(kind)
	}
	last := c.get(kind)
	if last != nil && last.Reason == completed && next.Replicas == next.UpdatedReplicas {
		return c // it was scaled, or has lost a Pod; that isn't a rollout
	}
	switch {
	case isComplete(r.d, next):
		return c.with(progressing(corev1.ConditionTrue, completed, r.successful(), now))
	case hasMoved(r.d.Status, next):
		return c.replace(progressing(corev1.ConditionTrue, updated,
			r.subject()+" is progressing.", now))
	case last != nil && isLate(r.d, last, now):
		return c.with(progressing(corev1.ConditionFalse, timedOut,
			r.subject()+" has timed out progressing.", now))
	}
	return c
}

// isComplete reports whether all desired Pods exist, are available and have the new template, and
// there are no others.
func isComplete(d *appsv1.Deployment, status appsv1.DeploymentStatus) bool {
	desired := replicasOf(d.Spec.Replicas)
	return status.UpdatedReplicas == desired && status.Replicas == desired &&
		status.AvailableReplicas == desired
}

// hasMoved reports whether a rollout has made progress: there are more new Pods, fewer old ones, or
// more that are ready or available.
func hasMoved(before, now appsv1.DeploymentStatus) bool {
	return now.UpdatedReplicas > before.UpdatedReplicas ||
		now.Replicas-now.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		now.ReadyReplicas > before.ReadyReplicas || now.AvailableReplicas > before.AvailableReplicas
}

func isLate(d *appsv1.Deployment, last *appsv1.DeploymentCondition, now time.Time) bool {
	return last.Reason != completed && deadline(d, last).Before(now)
}

func deadline(d *appsv1.Deployment, last *appsv1.DeploymentCondition) time.Time {
	return last.LastUpdateTime.Add(time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second)
}

// nextCheck returns the time until the deadline, or 0 if there's no deadline to wait for. No event
// reports that moment.
func nextCheck(d *appsv1.Deployment, status appsv1.DeploymentStatus, now time.Time) time.Duration {
	last := conditions(status.Conditions).get(appsv1.DeploymentProgressing)
	if d.Spec.Paused || !hasDeadline(d) || last == nil || last.Reason == timedOut ||
		last.Reason == completed {
		return 0
	}
	// The API server stores whole seconds, so a time may be up to a second earlier when it's read
	// back.
	return max(deadline(d, last).Sub(now), 0) + time.Second
}

// withFailure copies the condition ReplicaFailure of a ReplicaSet that can't create or delete its
// Pods. The new ReplicaSet's comes first.
func withFailure(c conditions, r *rollout) conditions {
	sets := slices.Clone(r.oldRSs)
	if r.newRS != nil {
		sets = slices.Insert(sets, 0, r.newRS)
	}
	for _, rs := range sets {
		for _, failure := range rs.Status.Conditions {
			if failure.Type == appsv1.ReplicaSetReplicaFailure {
				return c.with(appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: failure.Status,
					Reason: failure.Reason, Message: failure.Message,
					LastUpdateTime:     failure.LastTransitionTime,
					LastTransitionTime: failure.LastTransitionTime,
				})
			}
		}
	}
	return c.without(appsv1.DeploymentReplicaFailure)
}
