package mini

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// daemonNow is when these tests take place.
var daemonNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// agentPod makes a Pod from a few words: "fresh" or "old" is its template, and it may be
// "ready", "ending" or "failed". It was created an hour ago, and a "young" one 10 s ago.
// "fresh (b)" is another Pod with the same words.
func agentPod(node, words string) *corev1.Pod {
	has := func(word string) bool { return slices.Contains(strings.Fields(words), word) }
	template := "v1"
	if has("fresh") {
		template = "v2"
	}
	age := time.Hour
	if has("young") {
		age = 10 * time.Second
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:              node + ": " + words,
		Labels:            map[string]string{appsv1.ControllerRevisionHashLabelKey: template},
		CreationTimestamp: metav1.NewTime(daemonNow.Add(-age)),
	}}
	pod.Spec.NodeName, pod.Status.Phase = node, corev1.PodRunning
	if has("ready") {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(daemonNow.Add(-age)),
		}}
	}
	if has("ending") {
		pod.DeletionTimestamp = &metav1.Time{Time: daemonNow}
	}
	if has("failed") {
		pod.Status.Phase = corev1.PodFailed
	}
	return pod
}

// agentNodes are the nodes a, b, c and so on, with their Pods, as in "old ready, fresh". A
// node that begins with "NoSchedule" may keep its Pods and gets none, and one that begins
// with "NoExecute" may not keep them, either.
func agentNodes(surge, unavailable string, nodes ...string) *nodesToDaemonPods {
	ds := &appsv1.DaemonSet{}
	up, down := intstr.Parse(surge), intstr.Parse(unavailable)
	ds.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type: appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{
			MaxSurge: &up, MaxUnavailable: &down,
		},
	}
	d := &nodesToDaemonPods{ds: ds, hash: "v2", now: daemonNow}
	for i, text := range nodes {
		n := &daemonNode{name: string(rune('a' + i)), shouldRun: true, shouldContinueRunning: true}
		text, noExecute := strings.CutPrefix(text, "NoExecute")
		text, noSchedule := strings.CutPrefix(text, "NoSchedule")
		n.shouldRun = !noExecute && !noSchedule
		n.shouldContinueRunning = !noExecute
		for words := range strings.SplitSeq(text, ",") {
			if words = strings.TrimSpace(words); words != "" {
				n.pods = append(n.pods, agentPod(n.name, words))
			}
		}
		d.nodes = append(d.nodes, n)
	}
	return d
}

// inWords is a plan in words.
func (p daemonPlan) inWords() (all []string) {
	for _, node := range p.create {
		all = append(all, "create on "+node)
	}
	for _, pod := range p.remove {
		all = append(all, "remove "+pod.Name)
	}
	if p.next > 0 {
		all = append(all, fmt.Sprint("again in ", p.next))
	}
	return all
}

// agentCase is what a function is to decide about some nodes.
type agentCase struct {
	nodes []string
	want  []string
}

// expectManage checks what manage decides, without a surge or with one.
func expectManage(t *testing.T, surge string, cases ...agentCase) {
	t.Helper()
	for _, c := range cases {
		var plan daemonPlan
		agentNodes(surge, "0", c.nodes...).manage(&plan)
		require.Equal(t, c.want, plan.inWords(), "nodes with these Pods: %q, maxSurge %s", c.nodes, surge)
	}
}

// A node without its agent has no logs, or no network.
//
// Function: nodesToDaemonPods.manage
func TestEachNodeThatShouldRunOneHasOnePod(t *testing.T) {
	expectManage(t, "0",
		agentCase{[]string{"", "fresh ready", "old ready"}, []string{"create on a"}},
		agentCase{[]string{"fresh", "old"}, nil},
		agentCase{[]string{"fresh ready, fresh (b)"}, []string{"remove a: fresh (b)"}},
		agentCase{[]string{"old ready, fresh (b), fresh"},
			[]string{"remove a: fresh (b)", "remove a: fresh"}}) // the rollout is for later
}

// A NoSchedule taint keeps new Pods away. It doesn't end any.
// Function: nodesToDaemonPods.manage
func TestAPodStaysWhereItMayAndComesWhereItShould(t *testing.T) {
	expectManage(t, "0",
		agentCase{[]string{"NoSchedule", "NoExecute"}, nil},
		agentCase{[]string{"NoSchedule fresh ready", "NoSchedule old"}, nil},
		agentCase{[]string{"NoExecute fresh ready"}, []string{"remove a: fresh ready"}},
		agentCase{[]string{"NoSchedule fresh failed"}, []string{"remove a: fresh failed"}})
}

// Two agents on a node fight for its ports and its files. With a surge, the user has said
// that they can live side by side.
//
// Function: nodesToDaemonPods.manage
func TestANodeWaitsUntilItsPodHasEndedUnlessThereIsASurge(t *testing.T) {
	expectManage(t, "0",
		agentCase{[]string{"old ready ending"}, nil},
		agentCase{[]string{"fresh ending", ""}, []string{"create on b"}})
	expectManage(t, "1", agentCase{[]string{"old ready ending"}, []string{"create on a"}})
}

// If the kubelet refuses a Pod, it refuses the next one as well: there would be hundreds.
//
// Function: nodesToDaemonPods.manage
func TestAPodThatFailsAtOnceIsReplacedAfterAPause(t *testing.T) {
	expectManage(t, "0",
		agentCase{[]string{"fresh failed"}, []string{"create on a", "remove a: fresh failed"}},
		agentCase{[]string{"fresh failed young"}, []string{"again in 20s"}},
		// Another template may be what helps.
		agentCase{[]string{"old failed young"}, []string{"create on a", "remove a: old failed young"}},
		agentCase{[]string{"NoExecute fresh failed young"}, []string{"remove a: fresh failed young"}})
}

// A surge means that two agents may live side by side, not that a kubelet that refuses one gets hundreds.
//
// Function: nodesToDaemonPods.manage
func TestAPodThatFailsAtOnceIsReplacedAfterAPauseEvenInASurge(t *testing.T) {
	expectManage(t, "1",
		agentCase{[]string{"fresh failed young"}, []string{"again in 20s"}},
		agentCase{[]string{"fresh failed young, old ending"}, []string{"again in 20s"}},
		agentCase{[]string{"fresh failed"}, []string{"create on a", "remove a: fresh failed"}})
}

// A plan that looks again when the last node is ready leaves the others without an agent until then.
//
// Function: nodesToDaemonPods.manage
func TestThePlanSaysWhenTheFirstNodeHasWaitedForLongEnough(t *testing.T) {
	for _, nodes := range [][]string{
		{"fresh ready young", "fresh failed young"}, {"fresh failed young", "fresh ready young"},
	} {
		for seconds, want := range inorder.Map(map[int32]string{25: "again in 15s", 35: "again in 20s"}) {
			d := agentNodes("0", "1", nodes...)
			d.ds.Spec.MinReadySeconds = seconds
			var plan daemonPlan
			d.manage(&plan)
			require.Equal(t, []string{want}, plan.inWords(), "one Pod failed 10 s ago and waits for 20 s more; "+
				"the other has been ready for 10 s of %d", seconds)
		}
	}
}

// Nothing happens when a Pod has been ready for long enough, so the plan has the time.
//
// Function: nodesToDaemonPods.manage
func TestThePlanSaysWhenAPodBecomesAvailable(t *testing.T) {
	d := agentNodes("0", "1", "fresh ready young", "fresh ready")
	d.ds.Spec.MinReadySeconds = 25
	var plan daemonPlan
	d.manage(&plan)
	require.Equal(t, []string{"again in 15s"}, plan.inWords(), "a Pod has been ready for 10 s of 25")
}

// These were made for nodes that have been deleted. They would wait for them forever.
//
// Function: nodesToDaemonPods.manage
func TestPodsForNodesThatDoNotExistAreDeleted(t *testing.T) {
	d := agentNodes("0", "1", "fresh ready")
	d.lost = []*corev1.Pod{agentPod("gone", "fresh")}
	var plan daemonPlan
	d.manage(&plan)
	require.Equal(t, []string{"remove gone: fresh"}, plan.inWords())
}

// With a surge, a node loses nothing: the old Pod goes when the fresh one serves.
//
// Function: nodesToDaemonPods.replaced
func TestInASurgeTheOldPodGoesWhenTheFreshOneServes(t *testing.T) {
	expectManage(t, "1",
		agentCase{[]string{"old ready, fresh"}, nil},
		agentCase{[]string{"old ready, fresh ready"}, []string{"remove a: old ready"}},
		agentCase{[]string{"old, fresh"}, []string{"remove a: old"}}, // nothing is lost
		agentCase{[]string{"old ready"}, nil},
		agentCase{[]string{"fresh, fresh (b), old ready, old ready (b)"},
			[]string{"remove a: fresh (b)", "remove a: old ready (b)"}})
	d := agentNodes("1", "0", "old ready, fresh ready young")
	d.ds.Spec.MinReadySeconds = 25
	var plan daemonPlan
	d.manage(&plan)
	require.Equal(t, []string{"again in 15s"}, plan.inWords(),
		"the fresh one has been ready for 10 s of 25: it isn't available yet")
}

// The old Pod has just become ready, and it's the only one on its node that serves. The fresh one hasn't started yet.
//
// Function: nodesToDaemonPods.replaced
func TestInASurgeAnOldPodThatHasJustBecomeReadyStays(t *testing.T) {
	d := agentNodes("1", "0", "old ready young, fresh")
	d.ds.Spec.MinReadySeconds = 25
	var plan daemonPlan
	d.manage(&plan)
	require.Equal(t, []string{"again in 15s"}, plan.inWords())
}

// expectRoll checks what roll decides.
func expectRoll(t *testing.T, surge, unavailable string, cases ...agentCase) {
	t.Helper()
	for _, c := range cases {
		var plan daemonPlan
		agentNodes(surge, unavailable, c.nodes...).roll(&plan)
		require.Equal(t, c.want, plan.inWords(), "nodes with these Pods: %q, maxSurge %s, maxUnavailable %s",
			c.nodes, surge, unavailable)
	}
}

// The user has said how many logs may be missing, or how many nodes may lose their network.
//
// Function: nodesToDaemonPods.roll
func TestNoMoreNodesAreWithoutAServingPodThanTheUserAllows(t *testing.T) {
	const done, next = "fresh ready", "old ready"
	expectRoll(t, "0", "1",
		agentCase{[]string{next, next, next}, []string{"remove a: old ready"}},
		agentCase{[]string{done, next, next}, []string{"remove b: old ready"}},
		agentCase{[]string{"fresh", next, next}, nil}, // it isn't ready yet
		agentCase{[]string{"", next, next}, nil},
		agentCase{[]string{"old ready ending", next, next}, nil}, // it's still ready, but not for long
		agentCase{[]string{done, done, done}, nil},
		agentCase{[]string{"NoSchedule", next, next}, []string{"remove b: old ready"}})
	expectRoll(t, "0", "2",
		agentCase{[]string{next, next, next}, []string{"remove a: old ready", "remove b: old ready"}},
		agentCase{[]string{"fresh", next, next}, []string{"remove b: old ready"}})
	expectRoll(t, "0", "30%", // of three nodes that should run one, and it's rounded up
		agentCase{[]string{next, next, next, "NoSchedule"}, []string{"remove a: old ready"}})
}

// Otherwise one broken agent would stop the very release that repairs it.
// Function: nodesToDaemonPods.roll
func TestAnOldPodThatDoesNotServeIsReplacedAtAnyTime(t *testing.T) {
	expectRoll(t, "0", "1",
		agentCase{[]string{"old", "old", "old ready"}, []string{"remove a: old", "remove b: old"}},
		agentCase{[]string{"fresh", "old", "old ready"}, []string{"remove b: old"}})
	expectRoll(t, "1", "0",
		agentCase{[]string{"old ready, fresh", "old"}, []string{"create on b"}})
}

// A second agent takes memory from the Pods of the node.
//
// Function: nodesToDaemonPods.roll
func TestNoMoreNodesHaveTwoPodsThanTheSurgeAllows(t *testing.T) {
	expectRoll(t, "1", "0",
		agentCase{[]string{"old ready", "old ready"}, []string{"create on a"}},
		agentCase{[]string{"old ready, fresh", "old ready"}, nil},
		agentCase{[]string{"fresh ready", "old ready"}, []string{"create on b"}},
		agentCase{[]string{"fresh ready", "fresh"}, nil})
	expectRoll(t, "2", "0",
		agentCase{[]string{"old ready, fresh", "old ready", "old ready"}, []string{"create on b"}})
}

// One node whose agent can't start would keep all the others from the new release.
//
// Function: nodesToDaemonPods.roll
func TestASurgeDoesNotWaitForNodesThatLackTheirPod(t *testing.T) {
	expectRoll(t, "1", "0",
		agentCase{[]string{"", "old ready"}, []string{"create on b"}},
		agentCase{[]string{"fresh", "old ready", "old ready"}, []string{"create on b"}})
}

// A release that tolerates less than the one before can't come to a node with that taint.
// The old agent must not stay there forever, but it doesn't have to go while it's needed.
//
// Function: nodesToDaemonPods.roll
func TestAnOldPodLeavesANodeThatGetsNoneWhenEnoughOthersServe(t *testing.T) {
	const leaving = "NoSchedule old ready"
	expectRoll(t, "0", "1",
		agentCase{[]string{leaving, "fresh ready", "fresh ready"}, []string{"remove a: old ready"}},
		agentCase{[]string{leaving, "fresh", "fresh"}, nil}, // one serves, and that's it
		agentCase{[]string{leaving, leaving, "fresh", "fresh"}, []string{"remove a: old ready"}},
		agentCase{[]string{"NoSchedule old", "fresh", "fresh"}, []string{"remove a: old"}},
		agentCase{[]string{"NoSchedule fresh ready", "fresh ready"}, nil})
}
