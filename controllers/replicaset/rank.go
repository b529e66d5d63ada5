package replicaset

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/controllers/internal/podstate"
)

// firstToGo returns the n Pods to delete first. related are the Pods of all ReplicaSets with the
// same owner, by which it counts how crowded a node is. It doesn't change pods.
func firstToGo(pods, related []*corev1.Pod, n int, now time.Time) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	crowd := map[string]int{}
	for _, pod := range related {
		if podstate.IsActive(pod) {
			crowd[pod.Spec.NodeName]++
		}
	}
	ranked := make([]merits, len(pods))
	for i, pod := range pods {
		ranked[i] = meritsOf(pod, crowd[pod.Spec.NodeName], now)
	}
	slices.SortFunc(ranked, compareMerits)
	chosen := make([]*corev1.Pod, n)
	for i := range chosen {
		chosen[i] = ranked[i].pod
	}
	return chosen
}

// merits are the reasons to keep a Pod, the most important first. The Pod with the lower value is
// deleted first, except where less is better.
type merits struct {
	assigned        bool  // to a node
	phase           int   // Pending, Unknown, Running
	ready           bool  //
	cost            int32 // of its deletion, as its annotation says
	crowd           int   // related Pods on its node; less is better
	readyFor        int   // as age
	restarts        int   // of the container that was restarted most; less is better
	sidecarRestarts int   // the same, of sidecars
	age             int   // the logarithm of the time
	uid             types.UID
	pod             *corev1.Pod
}

// compareMerits is negative if the Pod with the merits a is deleted first.
//
// It compares one merit after the other, so it's a strict weak order. Kubernetes' own comparison
// isn't: if two Pods have different times in the same bucket, it decides by UID at once, and skips
// the restarts. So it can put three Pods in a circle, each before the next.
func compareMerits(a, b merits) int {
	return cmp.Or(
		compareBool(a.assigned, b.assigned),
		cmp.Compare(a.phase, b.phase),
		compareBool(a.ready, b.ready),
		cmp.Compare(a.cost, b.cost),
		cmp.Compare(b.crowd, a.crowd),
		cmp.Compare(a.readyFor, b.readyFor),
		cmp.Compare(b.restarts, a.restarts),
		cmp.Compare(b.sidecarRestarts, a.sidecarRestarts),
		cmp.Compare(a.age, b.age),
		cmp.Compare(a.uid, b.uid), // random, but the same each time
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func meritsOf(pod *corev1.Pod, crowd int, now time.Time) merits {
	m := merits{
		assigned: pod.Spec.NodeName != "", phase: phaseRank(pod.Status.Phase),
		cost: deletionCost(pod), crowd: crowd,
		age: logarithmOf(pod.CreationTimestamp.Time, now), uid: pod.UID, pod: pod,
	}
	var since time.Time
	if since, m.ready = podstate.Ready(pod); m.ready {
		m.readyFor = logarithmOf(since, now)
	}
	m.restarts, m.sidecarRestarts = mostRestarts(pod)
	return m
}

func phaseRank(phase corev1.PodPhase) int {
	switch phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	default:
		return 0
	}
}

// deletionCost is 0 for a Pod without the annotation, or with one that isn't a number in JSON's
// format: the API server refuses such a value today, but older ones may be stored.
func deletionCost(pod *corev1.Pod) int32 {
	text := pod.Annotations[corev1.PodDeletionCost]
	cost, err := strconv.ParseInt(text, 10, 32)
	if err != nil || text[0] == '+' || text[0] == '0' && text != "0" {
		return 0
	}
	return int32(cost)
}

// logarithmOf returns the binary logarithm of the time that has passed, rounded down. So Pods of
// about the same age are equal, and the random UID decides. Otherwise the youngest would always go
// first, and a scale-down after an update of many nodes would empty the nodes that were updated
// last. A time in the future is less than any in the past, and a zero time is less than that.
func logarithmOf(moment, now time.Time) int {
	switch passed := now.Sub(moment); {
	case moment.IsZero():
		return -2
	case passed <= 0:
		return -1
	default:
		return bits.Len64(uint64(passed)) - 1
	}
}

// mostRestarts returns the highest restart counts, of the containers and of the sidecars. A sidecar
// is an init container with the restart policy Always.
func mostRestarts(pod *corev1.Pod) (containers, sidecars int) {
	for i := range pod.Status.ContainerStatuses {
		containers = max(containers, int(pod.Status.ContainerStatuses[i].RestartCount))
	}
	for i := range pod.Status.InitContainerStatuses {
		if status := &pod.Status.InitContainerStatuses[i]; isSidecar(pod, status.Name) {
			sidecars = max(sidecars, int(status.RestartCount))
		}
	}
	return containers, sidecars
}

func isSidecar(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && c.RestartPolicy != nil &&
			*c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}
