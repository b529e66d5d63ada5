package mini

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// GetPodsToDelete returns the diff Pods that a user would miss least. It reorders pods.
func GetPodsToDelete(pods []*corev1.Pod, diff int, now time.Time) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		byRank := slices.Compare(deletionRank(a, now), deletionRank(b, now))
		return cmp.Or(byRank, cmp.Compare(a.UID, b.UID))
	})
	return pods[:diff]
}

// deletionRank says how much a user would miss the Pod. Between two Pods, the first
// number that differs decides: the Pod with the smaller one is deleted.
func deletionRank(pod *corev1.Pod, now time.Time) []int {
	var assigned, ready, readyFor, restarts int
	if pod.Spec.NodeName != "" {
		assigned++
	}
	if since, ok := podReady(pod); ok {
		ready++
		readyFor = logarithm(now.Sub(since))
	}
	cost, _ := strconv.Atoi(pod.Annotations[corev1.PodDeletionCost]) // without one: 0
	for _, container := range pod.Status.ContainerStatuses {
		restarts = max(restarts, int(container.RestartCount))
	}
	age := logarithm(now.Sub(pod.CreationTimestamp.Time))
	return []int{
		assigned, slices.Index(podPhases, pod.Status.Phase), ready,
		cost, readyFor, -restarts, age,
	}
}

// podPhases are in the order in which Pods are deleted.
var podPhases = []corev1.PodPhase{corev1.PodPending, corev1.PodUnknown, corev1.PodRunning}

// logarithm makes times of about the same length equal. If the youngest Pod always had to
// go, each scale-down would empty the node that was added last.
func logarithm(d time.Duration) int { return bits.Len64(uint64(max(d, 0))) }

// podReady returns whether the Pod is ready, and since when.
func podReady(pod *corev1.Pod) (since time.Time, ready bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// isPodTerminal returns true if the Pod's containers have ended and won't start again,
// for example after an eviction. The Pod stays for the user to look at, and another one
// takes its place.
func isPodTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}
