package replicaset

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

// failure is why a reconcile couldn't create or delete Pods.
type failure struct {
	reason string // failedCreate or failedDelete
	err    error
}

// message is the API server's message. The reason stands beside it and says what was tried.
func (f *failure) message() string {
	var refusal apierrors.APIStatus
	if errors.As(f.err, &refusal) {
		return refusal.Status().Message
	}
	return f.err.Error()
}

// statusOf returns the status of a ReplicaSet with these Pods. failed is nil if the reconcile
// succeeded.
func statusOf(
	rs *appsv1.ReplicaSet, active, terminating []*corev1.Pod, failed *failure, now time.Time,
) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{
		ObservedGeneration:  rs.Generation,
		Replicas:            int32(len(active)),
		TerminatingReplicas: new(int32(len(terminating))),
		Conditions:          conditionsAfter(rs.Status.Conditions, failed, now),
	}
	template := labels.SelectorFromValidatedSet(rs.Spec.Template.Labels)
	for _, pod := range active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if _, ready := podstate.Ready(pod); ready {
			status.ReadyReplicas++
		}
		if available, _ := podstate.Availability(pod, minReady(rs), now); available {
			status.AvailableReplicas++
		}
	}
	return status
}

// conditionsAfter keeps an existing ReplicaFailure as it is, even if the failure is a different one
// now: a message that changed with each try would cause a write with each try. It keeps the
// conditions of other types, which other programs write.
func conditionsAfter(
	conditions []appsv1.ReplicaSetCondition, failed *failure, now time.Time,
) []appsv1.ReplicaSetCondition {
	var others []appsv1.ReplicaSetCondition
	for _, condition := range conditions {
		if condition.Type != appsv1.ReplicaSetReplicaFailure {
			others = append(others, condition)
		} else if failed != nil {
			return conditions
		}
	}
	if failed == nil {
		return others
	}
	return append(others, appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: failed.reason,
		Message: failed.message(), LastTransitionTime: metav1.NewTime(now),
	})
}

// isWritten reports whether the ReplicaSet has the status already. If the API server drops
// terminatingReplicas, the comparison ignores a missing one; otherwise every reconcile would end
// with a write. It always compares a number that is set: Deployments wait until it is 0.
func isWritten(rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus, dropsTerminating bool) bool {
	has := rs.Status
	if dropsTerminating && has.TerminatingReplicas == nil {
		has.TerminatingReplicas = status.TerminatingReplicas
	}
	return equality.Semantic.DeepEqual(has, status)
}

// nextAvailable returns the time until the next Pod becomes available, or 0 if there's none to
// wait for. No event reports that moment.
func nextAvailable(rs *appsv1.ReplicaSet, active []*corev1.Pod, now time.Time) (in time.Duration) {
	for _, pod := range active {
		if _, after := podstate.Availability(pod, minReady(rs), now); after > 0 &&
			(in == 0 || after < in) {
			in = after
		}
	}
	return in
}

func minReady(rs *appsv1.ReplicaSet) time.Duration {
	return time.Duration(rs.Spec.MinReadySeconds) * time.Second
}
