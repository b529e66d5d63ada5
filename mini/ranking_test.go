package mini_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/mini"
)

var rankingNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// ranked is a Pod that a user would miss: it has run for a long time. The changes make it
// another one.
func ranked(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(rankingNow.Add(-100 * time.Hour)),
		},
		Spec: corev1.PodSpec{NodeName: "node-of-" + name},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				{
					Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(rankingNow),
				},
				{
					Type: corev1.PodReady, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(rankingNow.Add(-100 * time.Hour)),
				},
			},
			ContainerStatuses: []corev1.ContainerStatus{{}, {}},
		},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func onNode(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = name }
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func notReady(pod *corev1.Pod) { pod.Status.Conditions[1].Status = corev1.ConditionFalse }

func notReadyFor(d time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		notReady(pod)
		pod.Status.Conditions[1].LastTransitionTime = metav1.NewTime(rankingNow.Add(-d))
	}
}

func readyFor(d time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions[1].LastTransitionTime = metav1.NewTime(rankingNow.Add(-d))
	}
}

func withCost(text string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[corev1.PodDeletionCost] = text }
}

func restarted(counts ...int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		for i, count := range counts {
			pod.Status.ContainerStatuses[i].RestartCount = count
		}
	}
}

func createdBefore(d time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.CreationTimestamp = metav1.NewTime(rankingNow.Add(-d))
	}
}

// goFirst asks which of the Pods go first, whatever the order of the question.
func goFirst(t *testing.T, n int, pods []*corev1.Pod) (names []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for try := range 20 {
		pods = append([]*corev1.Pod(nil), pods...)
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		var now []string
		for _, pod := range mini.GetPodsToDelete(pods, n, rankingNow) {
			now = append(now, pod.Name)
		}
		if try > 0 {
			require.ElementsMatch(t, names, now, "the choice depends on the order in which the Pods come")
		}
		names = now
	}
	return names
}

// goesFirst is a pair of Pods of which the first one has to go.
type goesFirst struct {
	why        string
	goes, stay []func(*corev1.Pod)
}

type looks = []func(*corev1.Pod)

func (p goesFirst) run(t *testing.T) {
	t.Run(p.why, func(t *testing.T) {
		for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} { // no accident of the names
			goes, stays := ranked(names[0], p.goes...), ranked(names[1], p.stay...)
			pods := []*corev1.Pod{goes, stays}
			require.Equal(t, []string{goes.Name}, goFirst(t, 1, pods), "%s goes", goes.Name)
		}
	})
}

// Whatever the ranking is, the number must be right.
func TestTheRightNumberOfPodsIsDeleted(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, ranked(strconv.Itoa(i)))
	}
	for n := range 6 {
		require.Len(t, goFirst(t, n, pods), n)
	}
}

// A user doesn't notice if a Pod is deleted that doesn't answer requests.
func TestAPodThatDoesNotServeIsDeletedFirst(t *testing.T) {
	for _, pair := range []goesFirst{
		{"it has no node yet", looks{onNode("")}, looks{}},
		{"it has not been started", looks{inPhase(corev1.PodPending)}, looks{}},
		{"its phase is unknown", looks{inPhase(corev1.PodUnknown)}, looks{}},
		{"pending before unknown", looks{inPhase(corev1.PodPending)}, looks{inPhase(corev1.PodUnknown)}},
		{"it is not ready", looks{notReady}, looks{}},
		{"it says nothing about ready", looks{func(p *corev1.Pod) { p.Status.Conditions = nil }}, looks{}},
	} {
		pair.run(t)
	}
}

// The annotation controller.kubernetes.io/pod-deletion-cost is a number; without it, it is 0.
func TestTheUserSaysWhatADeletionCosts(t *testing.T) {
	for _, pair := range []goesFirst{
		{"it costs less than nothing", looks{withCost("-1")}, looks{}},
		{"another one costs more", looks{}, looks{withCost("100")}},
		{"numbers, not texts", looks{withCost("9")}, looks{withCost("10")}},
		{"the largest of numbers", looks{withCost("-2147483648")}, looks{withCost("2147483647")}},
	} {
		pair.run(t)
	}
}

// A Pod that has been ready for days is known to work.
func TestThePodThatHasProvedItselfStays(t *testing.T) {
	for _, pair := range []goesFirst{
		{"it is ready for a short time", looks{readyFor(time.Minute)}, looks{}},
		{"it was restarted more often", looks{restarted(1)}, looks{}},
		{"one of its containers was", looks{restarted(3, 7)}, looks{restarted(6, 6)}},
		{"the worst container counts", looks{restarted(7, 0)}, looks{restarted(5, 5)}},
		{"it is younger", looks{createdBefore(time.Hour)}, looks{}},
	} {
		pair.run(t)
	}
}

// A reason counts only if all reasons before it are equal.
func TestTheReasonsComeInOrder(t *testing.T) {
	for _, pair := range []goesFirst{
		{"no node before the phase", looks{onNode("")}, looks{inPhase(corev1.PodPending)}},
		{"the phase before ready", looks{inPhase(corev1.PodUnknown)}, looks{notReady}},
		{"ready before the cost", looks{notReady, withCost("100")}, looks{withCost("-100")}},
		{"the cost before the time", looks{withCost("1")}, looks{withCost("2"), readyFor(time.Minute)}},
		{"the time before restarts", looks{readyFor(time.Minute)}, looks{restarted(9)}},
		{"restarts before the age", looks{restarted(1)}, looks{createdBefore(time.Minute)}},
	} {
		pair.run(t)
	}
}

// Times are compared by their logarithm: a Pod of 20 days and one of 26 are about as old.
func TestTimesOfAboutTheSameLengthAreEqual(t *testing.T) {
	bucket := time.Duration(1 << 50) // 13 days: times from here to twice as long are alike
	for _, pair := range []goesFirst{
		{"ready about as long", looks{readyFor(2*bucket - 1), restarted(1)}, looks{readyFor(bucket)}},
		{"ready twice as long", looks{readyFor(2*bucket - 1)}, looks{readyFor(2 * bucket)}},
		{"ready since tomorrow", looks{readyFor(-time.Hour)}, looks{readyFor(time.Second)}},
		{"created twice as early", looks{createdBefore(2*bucket - 1)}, looks{createdBefore(2 * bucket)}},
		{"created this moment", looks{createdBefore(0)}, looks{createdBefore(time.Nanosecond)}},
		{"created tomorrow", looks{createdBefore(-time.Hour)}, looks{createdBefore(time.Second)}},
		{
			"not ready for whatever time",
			looks{notReadyFor(time.Hour), restarted(1)}, looks{notReadyFor(time.Minute)},
		},
	} {
		pair.run(t)
	}
	// Nothing but the UIDs can tell these apart: otherwise the youngest would always go.
	old, young := ranked("a", createdBefore(2*bucket-1)), ranked("b", createdBefore(bucket))
	pods := []*corev1.Pod{old, young}
	require.Equal(t, []string{"a"}, goFirst(t, 1, pods), "they are about as old")
}
