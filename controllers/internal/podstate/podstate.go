// Package podstate says what a Pod's status means to the controller that owns the Pod: whether it counts, whether
// it is ready, and when it will count as available.
//
// A Pod and a moment go in, an answer comes out. Nothing here reads a clock or a cluster.
//
// Neighbours: below it are only the API types. Above it are the controllers that make Pods.
package podstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IsActive reports whether a Pod counts as one of the replicas. A Pod that has finished never starts again, and one
// that is being deleted has its end before it: both have to be replaced.
func IsActive(pod *corev1.Pod) bool { return !hasFinished(pod) && pod.DeletionTimestamp == nil }

// IsTerminating reports whether a Pod is being deleted, and its containers may still run.
func IsTerminating(pod *corev1.Pod) bool { return !hasFinished(pod) && pod.DeletionTimestamp != nil }

func hasFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Ready returns the moment since which a Pod is ready. The moment is zero if nobody wrote it down.
func Ready(pod *corev1.Pod) (since time.Time, ready bool) {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Time, condition.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// Availability says whether a Pod is available: ready, and for minReady at least. If it is not, and time alone will
// change that, in says after how long; 0 means that something else has to happen first.
func Availability(pod *corev1.Pod, minReady time.Duration, now time.Time) (available bool, in time.Duration) {
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
