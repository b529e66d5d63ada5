package mini

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetPodsToDelete returns the diff Pods that a user would miss least. It sorts pods.
// related are the Pods of the same application: they show which nodes are crowded.
func GetPodsToDelete(pods, related []*corev1.Pod, diff int, now time.Time) []*corev1.Pod {
	onNode := map[string]int{}
	for _, pod := range related {
		if isPodActive(pod) {
			onNode[pod.Spec.NodeName]++
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		rankA := deletionRank(a, onNode[a.Spec.NodeName], now)
		rankB := deletionRank(b, onNode[b.Spec.NodeName], now)
		return cmp.Or(slices.Compare(rankA, rankB), cmp.Compare(a.UID, b.UID))
	})
	return pods[:diff]
}

// deletionRank says how much a user would miss the Pod. The first number that differs
// between two Pods decides: the Pod with the smaller one goes.
func deletionRank(pod *corev1.Pod, onNode int, now time.Time) []int {
	assigned, ready, readyFor := 0, 0, 0
	if pod.Spec.NodeName != "" {
		assigned = 1
	}
	if since, ok := podReady(pod); ok {
		ready, readyFor = 1, logarithm(now.Sub(since))
	}
	restarts := int32(0)
	for _, container := range pod.Status.ContainerStatuses {
		restarts = max(restarts, container.RestartCount)
	}
	return []int{
		assigned,
		podPhaseToOrdinal[pod.Status.Phase],
		ready,
		deletionCost(pod),
		-onNode, // so that one Pod stays on each node
		readyFor,
		-int(restarts),
		logarithm(now.Sub(pod.CreationTimestamp.Time)),
	}
}

var podPhaseToOrdinal = map[corev1.PodPhase]int{
	corev1.PodPending: 0, corev1.PodUnknown: 1, corev1.PodRunning: 2,
}

// deletionCost is what the user says in an annotation. If it is not a number, it is 0.
func deletionCost(pod *corev1.Pod) int {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0 // ParseInt returns the nearest number with its error
	}
	return int(cost)
}

// logarithm makes times of about the same length equal. If the youngest Pod always went
// first, each scaling down would empty the node that was added last.
func logarithm(d time.Duration) int { return bits.Len64(uint64(max(d, 0))) }

// getIndirectlyRelatedPods returns the Pods of all ReplicaSets of the same Deployment.
func getIndirectlyRelatedPods(
	ctx context.Context, c *CachedClient, rs *appsv1.ReplicaSet,
) (related []*corev1.Pod, err error) {
	sets := []*appsv1.ReplicaSet{rs}
	if ref := metav1.GetControllerOf(rs); ref != nil {
		owner := &metav1.PartialObjectMetadata{}
		owner.UID = ref.UID
		if sets, err = OwnedBy[*appsv1.ReplicaSet](ctx, c, owner); err != nil {
			return nil, err
		}
	}
	for _, set := range sets {
		pods, err := OwnedBy[*corev1.Pod](ctx, c, set)
		if err != nil {
			return nil, err
		}
		related = append(related, pods...)
	}
	return related, nil
}

// isPodActive: the Pod counts as one of those that its ReplicaSet asks for.
func isPodActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !isPodTerminal(pod)
}

// isPodTerminal: its containers have ended and will not be started again, as after an
// eviction. The Pod stays for the user to look at, and another one takes its place.
func isPodTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// podReady returns whether the Pod is ready, and since when.
func podReady(pod *corev1.Pod) (since time.Time, ready bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}
