package replicaset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// settledPod is a Pod with every reason to keep it. The changes take some of them away.
func settledPod(uid string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pod-" + uid, UID: types.UID(uid),
			CreationTimestamp: metav1.NewTime(noon.Add(-10 * time.Hour)),
		},
		Spec: corev1.PodSpec{NodeName: "n1", InitContainers: []corev1.Container{
			{Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			{Name: "plain"},
			{Name: "init", RestartPolicy: new(corev1.ContainerRestartPolicyOnFailure)},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	readyFor(9 * time.Hour)(pod)
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func unassigned(pod *corev1.Pod) { pod.Spec.NodeName = "" }
func notReady(pod *corev1.Pod)   { pod.Status.Conditions = nil }

func on(node string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Spec.NodeName = node } }
func phase(p corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}
func costs(c string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{corev1.PodDeletionCost: c} }
}

func readyFor(d time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{
			{
				Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: metav1.NewTime(noon.Add(-d)),
			},
		}
	}
}

func notReadyFor(d time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		readyFor(d)(pod)
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
	}
}

func readySinceNobodyKnowsWhen(pod *corev1.Pod) {
	pod.Status.Conditions[0].LastTransitionTime = metav1.Time{}
}

func aged(d time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(noon.Add(-d)) }
}

func restarted(n int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "a"}, {Name: "b", RestartCount: n},
		}
	}
}

func sidecarRestarted(n int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
			{Name: "init", RestartCount: 9}, {Name: "plain", RestartCount: 9},
			{Name: "sidecar", RestartCount: n},
		}
	}
}

type rankCase struct {
	name    string
	goes    *corev1.Pod
	stays   *corev1.Pod
	related []*corev1.Pod
}

// rankCases has one case or more for each rule. In each, the Pod that stays is worse by all later
// rules.
func rankCases() []rankCase {
	return []rankCase{
		{
			"one without a node goes before one with a node",
			settledPod("b", unassigned, costs("5")),
			settledPod("a", phase(corev1.PodPending), notReady), nil,
		},
		{
			"a pending one goes before one whose phase is unknown",
			settledPod("b", phase(corev1.PodPending)),
			settledPod("a", phase(corev1.PodUnknown), notReady, costs("-1")), nil,
		},
		{
			"one whose phase is unknown goes before a running one",
			settledPod("b", phase(corev1.PodUnknown)), settledPod("a", notReady, costs("-1")), nil,
		},
		{
			"one without a phase is as one that is pending", settledPod("b", phase("")),
			settledPod("a", phase(corev1.PodUnknown)), nil,
		},
		{
			"one that is not ready goes before a ready one", settledPod("b", notReady, costs("7")),
			settledPod("a", costs("-7"), readyFor(time.Second), restarted(3)), nil,
		},
		{
			"the cheaper one goes first", settledPod("b", costs("-1")),
			settledPod("a", on("n2"), readyFor(time.Second), restarted(3)), crowded("n2", 3),
		},
		{
			"one on a crowded node goes first", settledPod("b", on("n2")),
			settledPod("a", readyFor(time.Second), restarted(3)), crowded("n2", 3),
		},
		{
			"a cost that is no number is none", settledPod("b", costs("one"), on("n2")),
			settledPod("a"), crowded("n2", 3),
		},
		{
			"nor is one with a plus", settledPod("b", costs("+9"), on("n2")), settledPod("a"),
			crowded("n2", 3),
		},
		{
			"nor one with a zero in front", settledPod("b", costs("09"), on("n2")), settledPod("a"),
			crowded("n2", 3),
		},
		{
			"nor one that is too large", settledPod("b", costs("4294967296"), on("n2")),
			settledPod("a"), crowded("n2", 3),
		},
		{"a negative cost is less than none", settledPod("b", costs("-10")), settledPod("a"), nil},
		{
			"nor one that is too large by one", settledPod("b", on("n2")),
			settledPod("a", costs("2147483648")), crowded("n2", 3),
		},
		{
			"the largest cost there is counts", settledPod("b", costs("19")),
			settledPod("a", costs("2147483647"), on("n2")), crowded("n2", 3),
		},
		{
			"the digits are decimal", settledPod("b"), settledPod("a", costs("9"), on("n2")),
			crowded("n2", 3),
		},
		{
			"no cost is the same as 0", settledPod("b", on("n2")), settledPod("a", costs("0")),
			crowded("n2", 3),
		},
		{
			"how long one has not been ready does not matter",
			settledPod("a", notReadyFor(9*time.Hour)), settledPod("b", notReadyFor(time.Hour)), nil,
		},
		{
			"Pods that have finished make no crowd", settledPod("a"), settledPod("b", on("n2")),
			crowded("n2", 3, phase(corev1.PodFailed)),
		},
		{
			"nor do those that are being deleted", settledPod("a"), settledPod("b", on("n2")),
			crowded("n2", 3, deleted),
		},
		{
			"one that is ready for a shorter time goes first", settledPod("b", readyFor(time.Hour)),
			settledPod("a", readyFor(9*time.Hour), restarted(3), aged(time.Minute)), nil,
		},
		{
			"one of which nobody knows since when goes first",
			settledPod("b", readySinceNobodyKnowsWhen), settledPod("a", readyFor(time.Nanosecond)),
			nil,
		},
		{
			"about as long is the same", settledPod("a", readyFor(9*time.Hour)),
			settledPod("b", readyFor(8*time.Hour+30*time.Minute)), nil,
		},
		{
			"one that was restarted more often goes first", settledPod("b", restarted(3)),
			settledPod("a", restarted(2), sidecarRestarted(5), aged(time.Minute)), nil,
		},
		{
			"then one whose sidecars were", settledPod("b", restarted(2), sidecarRestarted(3)),
			settledPod("a", restarted(2), sidecarRestarted(2), aged(time.Minute)), nil,
		},
		{
			"then a younger one", settledPod("b", aged(time.Hour)),
			settledPod("a", aged(10*time.Hour)), nil,
		},
		{
			"among those of about the same age, chance decides",
			settledPod("a", aged(11*time.Hour)), settledPod("b", aged(10*time.Hour)), nil,
		},
	}
}

func deleted(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: noon} }

// crowded are related Pods on a node.
func crowded(node string, n int, changes ...func(*corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, settledPod(fmt.Sprint("related-", i), append(changes, on(node))...))
	}
	return pods
}

// The controller would delete the wrong Pod: one that is ready instead of one that is not, or one
// that a user asked to keep.
func TestThePodThatCostsLeastGoesFirst(t *testing.T) {
	for _, c := range rankCases() {
		for _, pods := range [][]*corev1.Pod{{c.goes, c.stays}, {c.stays, c.goes}} {
			before := slices.Clone(pods)
			chosen := firstToGo(pods, append(c.related, pods...), 1, noon)
			require.Len(t, chosen, 1, c.name)
			require.Equal(t, c.goes.Name, chosen[0].Name, c.name)
			require.Equal(t, before, pods, "the caller's list must stay as it is")
		}
	}
}

func TestNobodyIsRankedIfAllGo(t *testing.T) {
	pods := []*corev1.Pod{settledPod("b"), settledPod("a")}
	require.Equal(t, pods, firstToGo(pods, nil, 2, noon))
	require.Empty(t, firstToGo(pods, nil, 0, noon))
}

// randomPod uses few different values, so that Pods are often equal in most of them.
func randomPod(random *rand.Rand, uid string) *corev1.Pod {
	times := []time.Duration{
		-time.Hour, 0, time.Nanosecond, time.Minute, 65 * time.Second, time.Hour, 80 * time.Minute,
	}
	pod := settledPod(uid,
		on([]string{"", "n1", "n2"}[random.IntN(3)]),
		phase([]corev1.PodPhase{"", corev1.PodPending, corev1.PodUnknown,
			corev1.PodRunning}[random.IntN(4)]),
		readyFor(times[random.IntN(len(times))]), aged(times[random.IntN(len(times))]),
		restarted(random.Int32N(2)), sidecarRestarted(random.Int32N(2)), costs([]string{"", "0",
			"1", "-1", "x"}[random.IntN(5)]))
	switch random.IntN(8) {
	case 0, 1, 2:
		notReady(pod)
	case 3:
		readySinceNobodyKnowsWhen(pod)
	}
	return pod
}

// theMerits are the fields of merits that decide, in their order.
var theMerits = []struct {
	name  string
	equal func(a, b merits) bool
	share func(to *merits, from merits)
}{
	{"assigned", func(a, b merits) bool {
		return a.assigned == b.assigned
	}, func(to *merits, from merits) { to.assigned = from.assigned }},
	{"phase", func(a, b merits) bool {
		return a.phase == b.phase
	}, func(to *merits, from merits) { to.phase = from.phase }},
	{"ready", func(a, b merits) bool {
		return a.ready == b.ready
	}, func(to *merits, from merits) { to.ready = from.ready }},
	{"cost", func(a, b merits) bool {
		return a.cost == b.cost
	}, func(to *merits, from merits) { to.cost = from.cost }},
	{"crowd", func(a, b merits) bool {
		return a.crowd == b.crowd
	}, func(to *merits, from merits) { to.crowd = from.crowd }},
	{"readyFor", func(a, b merits) bool {
		return a.readyFor == b.readyFor
	}, func(to *merits, from merits) { to.readyFor = from.readyFor }},
	{"restarts", func(a, b merits) bool {
		return a.restarts == b.restarts
	}, func(to *merits, from merits) { to.restarts = from.restarts }},
	{"sidecarRestarts", func(a, b merits) bool {
		return a.sidecarRestarts == b.sidecarRestarts
	}, func(to *merits, from merits) { to.sidecarRestarts = from.sidecarRestarts }},
	{"age", func(a, b merits) bool {
		return a.age == b.age
	}, func(to *merits, from merits) { to.age = from.age }},
	{"uid", func(a, b merits) bool { return a.uid == b.uid }, func(*merits, merits) {}},
}

// If a comparison has circles, the result of a sort depends on the order of the input, and so on
// chance.
func TestTheRankingIsAStrictOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 17))
	decided, chains := map[string]int{}, 0
	for range 20_000 {
		var of [3]merits
		for i := range of {
			of[i] = meritsOf(randomPod(random, fmt.Sprint(i)), random.IntN(2), noon)
		}
		// If all merits differ at random, the first ones decide nearly always. So some of them are
		// made equal.
		for _, merit := range theMerits {
			if random.IntN(4) > 0 {
				merit.share(&of[1], of[0])
				merit.share(&of[2], of[0])
			}
		}
		a, b, c := of[0], of[1], of[2]
		for _, merit := range theMerits {
			if !merit.equal(a, b) {
				decided[merit.name]++
				break
			}
		}
		require.Zero(t, compareMerits(a, a))
		require.NotZero(t, compareMerits(a, b), "different Pods are never equal")
		require.Equal(t, compareMerits(a, b) < 0, compareMerits(b, a) > 0)
		if compareMerits(a, b) < 0 && compareMerits(b, c) < 0 {
			chains++
			require.Negative(t, compareMerits(a, c),
				"a goes before b, and b before c: a must go before c\n%+v\n%+v\n%+v", a, b, c)
		}
	}
	t.Logf("%d chains of three; of two Pods was decided by: %v", chains, decided)
	require.Greater(t, chains, 2000, "the test exercises too little")
	for _, merit := range theMerits {
		require.Greater(t, decided[merit.name], 200, "the test exercises too little: %s",
			merit.name)
	}
}

// A cache lists in the order of a map.
func TestTheOrderOfTheListDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 17))
	for range 500 {
		var pods []*corev1.Pod
		for i := range 12 {
			pods = append(pods, randomPod(random, fmt.Sprint(i)))
		}
		n := random.IntN(len(pods))
		chosen := firstToGo(pods, pods, n, noon)
		shuffled := slices.Clone(pods)
		random.Shuffle(len(pods), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		require.Equal(t, chosen, firstToGo(shuffled, shuffled, n, noon))
	}
}

// Two Pods of about the same age would not be equal, or two of very different age would.
func TestTheLogarithmOfATimeIsRoundedDown(t *testing.T) {
	for _, c := range []struct {
		passed time.Duration
		rank   int
	}{{-time.Hour, -1}, {0, -1}, {1, 0}, {2, 1}, {3, 1}, {4, 2}, {1023, 9}, {1024, 10},
		{time.Second, 29}, {10 * time.Hour, 45}} {
		require.Equal(t, c.rank, logarithmOf(noon.Add(-c.passed), noon), "%v have passed", c.passed)
	}
	require.Equal(t, -2, logarithmOf(time.Time{}, noon), "a moment that nobody knows")
}
