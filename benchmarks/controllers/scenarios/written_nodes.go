package scenarios

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

const node = "n1"

// nodeIs is what a condition of the node says.
func nodeIs(condition corev1.NodeConditionType, status corev1.ConditionStatus) string {
	return fmt.Sprintf("Node/<namespace>-n1.status.conditions[%s].status=%s", condition, status)
}

var (
	joins    = addNode(node, nil).until(taintIs(0, "example.com/stage"), onlyItsOwn)
	goesDark = silence(node)
	isDark   = nodeIs(corev1.NodeReady, corev1.ConditionUnknown)
	isBack   = reports(node, "is ready", corev1.ConditionTrue, nil)
	isSick   = reports(node, "is not ready", corev1.ConditionFalse, nil)
	forever  = podOn(node, "forever", -1).until("Pod/forever.status.phase=Running")
)

func podTolerates(name string, seconds int64) Step {
	return podOn(node, name, seconds).until("Pod/" + name + ".status.phase=Running")
}

// taintIs says which key a taint of the node has. Taints are sorted by effect, then by key; that of the stage is always there.
func taintIs(i int, key string) string {
	return fmt.Sprintf("Node/<namespace>-n1.spec.taints[%d].key=%s", i, key)
}

// evictsSince is the time of the taint that ends Pods, which comes first.
const evictsSince = "Node/<namespace>-n1.spec.taints[0].timeAdded=<time>"

// onlyItsOwn is the taint of the stage, and no other one.
var onlyItsOwn = taintIs(1, "(none)")

var nodeScenarios = []Scenario{
	about("node", "it joins", joins),
	about("node", "silent, with Pods that stay, and that wait, and that go",
		joins, forever, podTolerates("soon", 3), podTolerates("at-once", 0), podTolerates("later", 3600),
		goesDark.until(isDark, evictsSince, "Pod/forever.status.conditions[Ready].status=False", "Pod/soon.status.conditions[DisruptionTarget].status=True", "Pod/at-once.status.conditions[DisruptionTarget].status=True")),
	about("node", "silent, and back",
		joins, podTolerates("later", 3600), goesDark.until(isDark, evictsSince, "Pod/later.status.conditions[Ready].status=False"),
		isBack.until(nodeIs(corev1.NodeReady, corev1.ConditionTrue), onlyItsOwn)),
	about("node", "it reports that it is not ready",
		joins, podTolerates("soon", 3), forever,
		isSick.until("Pod=1", "Node/<namespace>-n1.spec.taints[2].effect=NoSchedule"),
		isBack.until("Pod=1", onlyItsOwn)),
	about("node", "not ready, and then silent",
		joins, podTolerates("later", 3600), isSick.until("Node/<namespace>-n1.spec.taints[2].effect=NoSchedule"),
		goesDark.until(isDark, evictsSince, taintIs(0, corev1.TaintNodeUnreachable))),
	about("node", "pressure of memory, disk and processes",
		joins, forever,
		reports(node, "is short of memory", corev1.ConditionTrue, pressed(corev1.NodeMemoryPressure)).until(taintIs(1, corev1.TaintNodeMemoryPressure)),
		reports(node, "is short of disk", corev1.ConditionTrue, pressed(corev1.NodeDiskPressure)).until(taintIs(1, corev1.TaintNodeDiskPressure)),
		reports(node, "is short of processes", corev1.ConditionTrue, pressed(corev1.NodePIDPressure)).until(taintIs(1, corev1.TaintNodePIDPressure))),
	about("node", "without a network",
		joins,
		reports(node, "has no network", corev1.ConditionTrue, pressed(corev1.NodeNetworkUnavailable)).until(taintIs(1, corev1.TaintNodeNetworkUnavailable)),
		isBack.until(onlyItsOwn)),
	about("node", "cordoned, and not any more",
		joins, forever,
		editNode("cordon", node, func(n *corev1.Node) { n.Spec.Unschedulable = true }).until(taintIs(1, corev1.TaintNodeUnschedulable)),
		editNode("uncordon", node, func(n *corev1.Node) { n.Spec.Unschedulable = false }).until(onlyItsOwn)),
	about("node", "a user's taint ends Pods",
		joins, forever, podTolerates("other", 3),
		podOn(node, "tolerates", -1, tolerates("example.com/x", nil)).until("Pod/tolerates.status.phase=Running"),
		podOn(node, "for-a-time", -1, tolerates("example.com/x", new(int64(4)))).until("Pod/for-a-time.status.phase=Running"),
		editNode("taint it", node, taint("example.com/x", corev1.TaintEffectNoExecute)).until("Pod=1", "Pod/tolerates.status.phase=Running")),
	about("node", "a user's taint that goes in time",
		joins,
		podOn(node, "for-a-time", -1, tolerates("example.com/x", new(int64(600)))).until("Pod/for-a-time.status.phase=Running"),
		editNode("taint it", node, taint("example.com/x", corev1.TaintEffectNoExecute)).until("Pod=1", taintIs(0, "example.com/x")),
		editNode("the taint goes", node, func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] }).until("Pod=1", onlyItsOwn)),
	about("node", "a user's taint that only keeps new Pods away",
		joins, forever, editNode("taint it", node, taint("example.com/x", corev1.TaintEffectNoSchedule)).until("Pod=1")),
	about("node", "it has never reported",
		addNode(node, func(n *corev1.Node) { n.Status.Conditions = nil }).until("Node=1"),
		goesDark.until(isDark, evictsSince, taintIs(0, corev1.TaintNodeUnreachable), "Node/<namespace>-n1.status.conditions[Ready].reason=NodeStatusNeverUpdated")),
	about("node", "it leaves while Pods are on it", joins, forever, act("the node leaves", leave).until("Node=0")),
}

func tolerates(key string, seconds *int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds})
	}
}

func taint(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}
