// Package podstate says what a Pod's status means to a controller: whether the Pod is active, ready
// or terminating, and when it becomes available.
//
// Its functions get a Pod and the time. They read no clock and no cluster.
//
// Neighbours: below it are only the API types. Above it are the controllers that read Pods.
package podstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IsActive reports whether a Pod counts as one of the replicas. A Pod that has finished never
// starts again, and one that is being deleted will end soon: both have to be replaced.
func IsActive(pod *corev1.Pod) bool { return !hasFinished(pod) && pod.DeletionTimestamp == nil }

// IsTerminating reports whether a Pod is being deleted, and its containers may still run.
func IsTerminating(pod *corev1.Pod) bool {
	return !hasFinished(pod) && pod.DeletionTimestamp != nil
}

func hasFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Ready reports whether a Pod is ready, and since when that has been so; since is zero if the
// condition doesn't say.
func Ready(pod *corev1.Pod) (since time.Time, ready bool) {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Time, condition.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// Availability reports whether a Pod is available, that is, has been ready for minReady at least.
// If it only has to stay ready longer, in is the rest of that time; otherwise in is 0.
func Availability(
	pod *corev1.Pod, minReady time.Duration, now time.Time,
) (available bool, in time.Duration) {
	since, ready := Ready(pod)
	switch {
	case !ready:
		return false, 0
	case minReady == 0:
		return true, 0
	case since.IsZero():
		return false, 0
	}
	in = max(since.Add(minReady).Sub(now), 0)
	return in == 0, in
}
