package mini

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// healthNow is when these tests take place.
var healthNow = metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func healthTime(fromNow time.Duration) *metav1.Time {
	return &metav1.Time{Time: healthNow.Add(fromNow)}
}

func noExecute(key string, added time.Duration) corev1.Taint {
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute, TimeAdded: healthTime(added)}
}

const forever = -1 // seconds

// toleration tolerates the taint with this key for some seconds.
func toleration(key string, seconds int64) corev1.Toleration {
	t := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
	if seconds != forever {
		t.TolerationSeconds = &seconds
	}
	return t
}

// tolerant is a Pod that was created an hour ago.
func tolerant(tolerations ...corev1.Toleration) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *healthTime(-time.Hour)}}
	pod.Spec.Tolerations = tolerations
	return pod
}

// leavesIn is when the Pod has to leave, in words.
func leavesIn(pod *corev1.Pod, taints ...corev1.Taint) string {
	at, leaves := evictionTime(pod, taints)
	if !leaves {
		return "stays"
	}
	return fmt.Sprintf("leaves in %.0f s", at.Sub(healthNow.Time).Seconds())
}

// If a Pod leaves too early, it was healthy. If it leaves too late, its owner doesn't
// replace it.
// Function: evictionTime
func TestAPodLeavesWhenItsTolerationHasEnded(t *testing.T) {
	taint := noExecute("silent", -10*time.Second)
	for _, c := range []struct {
		name string
		pod  *corev1.Pod
		want string
	}{
		{"it tolerates the taint for 300 s", tolerant(toleration("silent", 300)), "leaves in 290 s"},
		{"it tolerates the taint for 5 s", tolerant(toleration("silent", 5)), "leaves in -5 s"},
		{"it tolerates the taint for 0 s", tolerant(toleration("silent", 0)), "leaves in -10 s"},
		{"it tolerates nothing", tolerant(), "leaves in -10 s"},
		{"it tolerates another taint", tolerant(toleration("other", forever)), "leaves in -10 s"},
		{"it tolerates the taint forever", tolerant(toleration("silent", forever)), "stays"},
	} {
		require.Equal(t, c.want, leavesIn(c.pod, taint), "the taint came 10 s ago, and %s", c.name)
	}
	require.Equal(t, "stays", leavesIn(tolerant()), "there's no taint")
}

// NoSchedule is for new Pods only. And a taint without a time has no moment to count
// from, so the controller writes one first.
// Function: evictionTime
func TestOnlyATaintWithNoExecuteAndATimeEndsAPod(t *testing.T) {
	noSchedule, timeless := noExecute("silent", -10*time.Second), noExecute("silent", 0)
	noSchedule.Effect, timeless.TimeAdded = corev1.TaintEffectNoSchedule, nil
	require.Equal(t, "stays", leavesIn(tolerant(), noSchedule), "NoSchedule")
	require.Equal(t, "stays", leavesIn(tolerant(), timeless), "a taint without a time")
}

// Each taint is its own reason to leave.
// Function: evictionTime
func TestOfSeveralTaintsTheOneThatEndsThePodFirstCounts(t *testing.T) {
	pod := tolerant(toleration("broken", 30), toleration("silent", 300), toleration("cordoned", forever))
	broken, silent := noExecute("broken", 0), noExecute("silent", -290*time.Second)
	cordoned := noExecute("cordoned", -time.Hour)
	require.Equal(t, "leaves in 10 s", leavesIn(pod, broken, silent, cordoned), "30 s, 10 s, forever")
	require.Equal(t, "leaves in 10 s", leavesIn(pod, cordoned, silent, broken), "forever, 10 s, 30 s")
}

// The API server adds 300 s for all Pods, behind what the user has written.
//
// Function: evictionTime
func TestOfSeveralTolerationsOfATaintTheFirstOneCounts(t *testing.T) {
	taint := noExecute("silent", 0)
	require.Equal(t, "leaves in 5 s",
		leavesIn(tolerant(toleration("silent", 5), toleration("silent", 300)), taint))
	require.Equal(t, "leaves in 300 s",
		leavesIn(tolerant(toleration("silent", 300), toleration("silent", 5)), taint))
}

// Otherwise a Pod that comes to a node with an old taint would leave at once.
//
// Function: evictionTime
func TestAPodThatIsYoungerThanTheTaintHasItsFullTime(t *testing.T) {
	pod := tolerant(toleration("silent", 300))
	pod.CreationTimestamp = *healthTime(-time.Minute)
	require.Equal(t, "leaves in 240 s", leavesIn(pod, noExecute("silent", -time.Hour)),
		"the Pod is a minute old, and the taint an hour")
}

// healthyNode has reported that it's ready, a minute ago.
func healthyNode(changes ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "first"}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		LastHeartbeatTime: *healthTime(-time.Minute),
	}}
	for _, change := range changes {
		change(node)
	}
	return node
}

func readyStatus(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Status.Conditions[0].Status = status }
}

func neverReported(node *corev1.Node) { node.Status.Conditions = nil }

func hasTaints(taints ...corev1.Taint) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Spec.Taints = taints }
}

func renewed(fromNow time.Duration) *coordinationv1.Lease {
	at := metav1.NewMicroTime(healthNow.Add(fromNow))
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &at}}
}

// If we compared it with our clock, a node whose clock is slow would lose its Pods.
//
// Function: heartbeatOf
func TestAHeartbeatComesWhenWeSeeItWhateverTheNodesClockSays(t *testing.T) {
	for _, slow := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		h := heartbeatOf(healthyNode(), renewed(-slow), healthNow.Time)
		require.Equal(t, healthNow.Time, h.seen, "the node's clock is %s slow", slow)
	}
	h := heartbeatOf(healthyNode(), &coordinationv1.Lease{}, healthNow.Time)
	require.Equal(t, healthNow.Time, h.seen, "the node has no lease")
}

// A sign that stays the same is silence. One that changes is life.
//
// Function: heartbeatOf
func TestASignOfLifeChangesWithTheLeaseTheReportAndTheNode(t *testing.T) {
	sign := func(node *corev1.Node, lease *coordinationv1.Lease, seen time.Duration) string {
		return heartbeatOf(node, lease, healthNow.Add(seen)).sign
	}
	first := sign(healthyNode(), renewed(0), 0)
	require.NotEmpty(t, first, "the empty sign means a node that we haven't heard")
	require.Equal(t, first, sign(healthyNode(), renewed(0), time.Minute),
		"a minute later, nothing has changed")
	require.NotEqual(t, first, sign(healthyNode(), renewed(10*time.Second), 0),
		"the node has renewed its lease")
	require.NotEqual(t, first, sign(healthyNode(func(node *corev1.Node) {
		node.Status.Conditions[0].LastHeartbeatTime = healthNow
	}), renewed(0), 0), "the node has reported its status")
	require.NotEqual(t, first, sign(healthyNode(func(node *corev1.Node) {
		node.UID = types.UID("second")
	}), renewed(0), 0), "another node has the name")
}

// A machine that starts takes longer than one that renews a lease.
//
// Function: heartbeatOf
func TestWeWaitLongerForANodeThatHasNeverReported(t *testing.T) {
	require.Equal(t, nodeMonitorGracePeriod,
		heartbeatOf(healthyNode(), renewed(0), healthNow.Time).patience, "it has reported before")
	require.Equal(t, nodeStartupGracePeriod,
		heartbeatOf(healthyNode(neverReported), renewed(0), healthNow.Time).patience, "it's new")
}

// At 0, its Pods begin to leave.
//
// Function: heartbeat.left
func TestWeBelieveInANodeUntilOurPatienceEnds(t *testing.T) {
	h := heartbeat{sign: "x", seen: healthNow.Time, patience: 50 * time.Second}
	for _, c := range []struct{ later, want time.Duration }{
		{0, 50 * time.Second}, {20 * time.Second, 30 * time.Second},
		{50 * time.Second, 0}, {time.Hour, 0},
	} {
		require.Equal(t, c.want, h.left(healthNow.Add(c.later)),
			"we wait 50 s, and have waited %s: 0 is silence", c.later)
	}
}

// taintsOf shows the taints that the node should have. Of one with a time, it says since
// when.
func taintsOf(node *corev1.Node, evict bool) (all []string) {
	for _, t := range nodeTaints(node, evict, healthNow) {
		text := t.Key + " " + string(t.Effect)
		if t.TimeAdded != nil {
			text += fmt.Sprintf(", %.0f s ago", healthNow.Sub(t.TimeAdded.Time).Seconds())
		}
		all = append(all, text)
	}
	return all
}

const (
	notReadyKey = corev1.TaintNodeNotReady
	silentKey   = corev1.TaintNodeUnreachable
)

// The scheduler reads taints, and not conditions. Without them, it sends new Pods there.
//
// Function: nodeTaints
func TestANodeHasTheTaintsOfItsConditions(t *testing.T) {
	for _, c := range []struct {
		name string
		node *corev1.Node
		want []string
	}{
		{"it's ready", healthyNode(), nil},
		{"it's not ready", healthyNode(readyStatus(corev1.ConditionFalse)), []string{notReadyKey + " NoSchedule"}},
		{"it's silent", healthyNode(readyStatus(corev1.ConditionUnknown)), []string{silentKey + " NoSchedule"}},
		{"it has never reported", healthyNode(neverReported), []string{notReadyKey + " NoSchedule"}},
		{"it's cordoned", healthyNode(func(node *corev1.Node) { node.Spec.Unschedulable = true }),
			[]string{corev1.TaintNodeUnschedulable + " NoSchedule"}},
		{"it's short of memory and of disk", healthyNode(func(node *corev1.Node) {
			node.Status.Conditions = append(node.Status.Conditions,
				corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue},
				corev1.NodeCondition{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
				corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue})
		}), []string{corev1.TaintNodeMemoryPressure + " NoSchedule", corev1.TaintNodeDiskPressure + " NoSchedule"}},
	} {
		require.Equal(t, c.want, taintsOf(c.node, false), "%s, and evict is false", c.name)
	}
}

// NoExecute is what ends the Pods. Memory and disk are no reason for that.
//
// Function: nodeTaints
func TestOnlyANodeThatIsNotReadyOrSilentEndsItsPods(t *testing.T) {
	require.Equal(t, []string{notReadyKey + " NoSchedule", notReadyKey + " NoExecute, 0 s ago"},
		taintsOf(healthyNode(readyStatus(corev1.ConditionFalse)), true), "it's not ready, and evict is true")
	require.Equal(t, []string{silentKey + " NoSchedule", silentKey + " NoExecute, 0 s ago"},
		taintsOf(healthyNode(readyStatus(corev1.ConditionUnknown)), true), "it's silent, and evict is true")
	require.Equal(t, []string{corev1.TaintNodeMemoryPressure + " NoSchedule"},
		taintsOf(healthyNode(func(node *corev1.Node) {
			node.Status.Conditions = append(node.Status.Conditions,
				corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue})
		}), true), "it's short of memory, and evict is true")
}

// A node that's not ready, then silent, then not ready again would keep its Pods forever.
//
// Function: nodeTaints
func TestATaintThatEndsPodsKeepsTheTimeOfThePreviousOne(t *testing.T) {
	before := hasTaints(corev1.Taint{Key: notReadyKey, Effect: corev1.TaintEffectNoSchedule},
		noExecute(notReadyKey, -4*time.Minute))
	require.Equal(t, []string{silentKey + " NoSchedule", silentKey + " NoExecute, 240 s ago"},
		taintsOf(healthyNode(readyStatus(corev1.ConditionUnknown), before), true),
		"it was not ready for four minutes, and is silent now")
	require.Empty(t, taintsOf(healthyNode(before), true), "it's ready again, so our taints are removed")
	require.Equal(t, []string{notReadyKey + " NoSchedule"},
		taintsOf(healthyNode(readyStatus(corev1.ConditionFalse), before), false),
		"it's not ready, but evict is false, so it no longer ends Pods")
}

// A user has set aside this node for one team. Other Pods must not come.
//
// Function: nodeTaints
func TestTheTaintsOfOthersStayAsTheyAre(t *testing.T) {
	team := corev1.Taint{Key: "team", Value: "red", Effect: corev1.TaintEffectNoSchedule}
	leave := noExecute("leave", -time.Hour)
	require.Equal(t, []string{"team NoSchedule", "leave NoExecute, 3600 s ago"},
		taintsOf(healthyNode(hasTaints(team, leave)), true), "it's ready")
	require.Equal(t, []string{"team NoSchedule", "leave NoExecute, 3600 s ago",
		silentKey + " NoSchedule", silentKey + " NoExecute, 0 s ago"},
		taintsOf(healthyNode(readyStatus(corev1.ConditionUnknown), hasTaints(team, leave)), true),
		"it has been silent for 0 s: the hour belongs to another taint")
}

// After an outage or a restart of ours, every node is late. None of them is dead.
//
// Function: shouldEvict
func TestPodsAreEvictedOnlyIfTheNodeHadItsTimeAndOthersAreHealthy(t *testing.T) {
	const some = 10 * time.Second
	ours, foreign := hasTaints(noExecute(silentKey, -time.Minute)), hasTaints(noExecute("leave", -time.Minute))
	for _, c := range []struct {
		name      string
		ready     corev1.ConditionStatus
		before    func(*corev1.Node)
		left      time.Duration
		disrupted bool
		want      bool
	}{
		{"it says that it's not ready", corev1.ConditionFalse, hasTaints(), some, false, true},
		{"it's silent, and its time is over", corev1.ConditionUnknown, hasTaints(), 0, false, true},
		{"it was silent, and has some time left", corev1.ConditionUnknown, hasTaints(), some, false, false},
		{"it was silent, and has a moment left", corev1.ConditionUnknown, hasTaints(), time.Nanosecond, false, false},
		{"it was silent, has some time left, and has a taint of ours that ends Pods", corev1.ConditionUnknown, ours, some, false, true},
		{"the same, but the taint is one of others", corev1.ConditionUnknown, foreign, some, false, false},
		{"it's not ready, and no node is healthy", corev1.ConditionFalse, hasTaints(), some, true, false},
		{"it's silent, and no node is healthy", corev1.ConditionUnknown, ours, 0, true, false},
	} {
		node := healthyNode(readyStatus(c.ready), c.before)
		require.Equal(t, c.want, shouldEvict(node, c.left, c.disrupted), "%s: do its Pods leave?", c.name)
	}
}
