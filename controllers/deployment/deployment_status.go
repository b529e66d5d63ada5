package deployment

import (
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
)

// statusOf adds up what the statuses of the ReplicaSets say. c are the conditions so far; that of availability is added.
func statusOf(f *family, c conditions, now time.Time) appsv1.DeploymentStatus {
	status := appsv1.DeploymentStatus{
		ObservedGeneration: f.d.Generation, CollisionCount: f.d.Status.CollisionCount, TerminatingReplicas: terminating(f.all()),
	}
	wanted := int32(0)
	for _, rs := range f.all() {
		wanted += replicasOf(rs.Spec.Replicas)
		status.Replicas += rs.Status.Replicas
		status.ReadyReplicas += rs.Status.ReadyReplicas
		status.AvailableReplicas += rs.Status.AvailableReplicas
	}
	if f.newSet != nil {
		status.UpdatedReplicas = f.newSet.Status.Replicas
	}
	status.UnavailableReplicas = max(wanted-status.AvailableReplicas, 0)
	status.Conditions = c.with(availability(f.d, status.AvailableReplicas, now))
	return status
}

func availability(d *appsv1.Deployment, available int32, now time.Time) appsv1.DeploymentCondition {
	l := limitsOf(&d.Spec)
	if available >= l.desired-l.unavailable {
		return condition(appsv1.DeploymentAvailable, corev1.ConditionTrue, minimumAvailable, "Deployment has minimum availability.", now)
	}
	return condition(appsv1.DeploymentAvailable, corev1.ConditionFalse, minimumUnavailable, "Deployment does not have minimum availability.", now)
}

// terminating is nil if a ReplicaSet does not say how many of its Pods are terminating: half a sum is none. One whose
// controller has not looked at it yet has no Pods.
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

// isWritten reports whether the Deployment has the status and the revision already. A server that does not know
// terminatingReplicas drops it: where it is missing, it is left out of the comparison then.
func isWritten(d *appsv1.Deployment, status appsv1.DeploymentStatus, revision string, dropsTerminating bool) bool {
	has := d.Status
	if dropsTerminating && has.TerminatingReplicas == nil {
		has.TerminatingReplicas = status.TerminatingReplicas
	}
	return equality.Semantic.DeepEqual(has, status) && (revision == "" || d.Annotations[revisionAnnotation] == revision)
}

// statusPatch replaces the status of the Deployment with this UID, and sets its revision, if there is one: the API
// server lets the annotations of a Deployment through with its status. It names every field, so that it does not
// matter what is there; and no version, because a user who scales at this moment is no reason for another try.
func statusPatch(d *appsv1.Deployment, status appsv1.DeploymentStatus, revision string) client.Patch {
	metadata := map[string]any{"uid": d.UID}
	if revision != "" && d.Annotations[revisionAnnotation] != revision {
		metadata["annotations"] = map[string]string{revisionAnnotation: revision}
	}
	var written any // null deletes them
	if len(status.Conditions) > 0 {
		written = status.Conditions
	}
	data, err := json.Marshal(map[string]any{
		"metadata": metadata,
		"status": map[string]any{
			"observedGeneration": status.ObservedGeneration, "replicas": status.Replicas, "updatedReplicas": status.UpdatedReplicas,
			"readyReplicas": status.ReadyReplicas, "availableReplicas": status.AvailableReplicas,
			"unavailableReplicas": status.UnavailableReplicas, "terminatingReplicas": status.TerminatingReplicas,
			"collisionCount": status.CollisionCount, "conditions": written,
		},
	})
	if err != nil {
		panic(fmt.Sprintf("deployment: a status cannot be written as JSON: %v", err))
	}
	return client.RawPatch(types.MergePatchType, data)
}
