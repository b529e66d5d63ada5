package scenarios

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	foreground = metav1.DeletePropagationForeground
	background = metav1.DeletePropagationBackground
	orphan     = metav1.DeletePropagationOrphan
)

const set1 = "web"

func about(controller, name string, steps ...Step) Scenario {
	return Scenario{Name: controller + ": " + name, About: controller, Steps: steps}
}

func replicaset(name string, steps ...Step) Scenario { return about("replicaset", name, steps...) }

// loose is a scenario whose steps do not wait for each other.
func loose(s Scenario) Scenario {
	s.Loose = true
	return s
}

var replicaSets = []Scenario{
	replicaset("scale up, down, and to 0", createSet(set(set1, 3)), scaleSet(set1, 7), scaleSet(set1, 2), scaleSet(set1, 0), scaleSet(set1, 1)),
	replicaset("of none", createSet(set(set1, 0))),
	replicaset("many, in groups that grow", createSet(set(set1, 40)), scaleSet(set1, 5)),
	replicaset("another template does not touch the Pods that there are",
		createSet(set(set1, 3)),
		editSet("another image", set1, setImage("works:2")), scaleSet(set1, 4), deletePod(anyPod)),
	replicaset("the template has more labels than the selector",
		createSet(set(set1, 3, func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Labels["tier"] = "front" })),
		addLabel(anyPod, "tier", ""), addLabel(labelled("tier", "front"), "tier", "back"), scaleSet(set1, 4)),
	replicaset("labels, annotations and finalizers of the template",
		createSet(set(set1, 2, func(rs *appsv1.ReplicaSet) {
			rs.Spec.Template.Annotations = map[string]string{"note": "a"}
			rs.Spec.Template.Finalizers = []string{"example.com/hold"}
		})), scaleSet(set1, 1)),
	replicaset("a Pod that is deleted is replaced", createSet(set(set1, 3)), deletePod(anyPod), deleteAllPods),
	replicaset("a Pod that fails is replaced", createSet(set(set1, 3)), fail(anyPod), fail(aReadyPod), scaleSet(set1, 1)),
	replicaset("a Pod that succeeds is replaced", createSet(set(set1, 2)), succeed(anyPod), scaleSet(set1, 0)),
	replicaset("Pods that are never ready", createSet(set(set1, 3, setImage("breaks:1"))), scaleSet(set1, 5), scaleSet(set1, 1)),
	replicaset("Pods whose image cannot be pulled", createSet(set(set1, 2, setImage("pulls:1"))), scaleSet(set1, 3), deleteAllPods),
	replicaset("Pods become unready and ready", createSet(set(set1, 3)), becomeUnready(anyPod), becomeUnready(aReadyPod), becomeReady(anUnreadyPod), becomeReady(anUnreadyPod)),
	replicaset("minReadySeconds", createSet(set(set1, 2, setMinReady(2))), scaleSet(set1, 3), becomeUnready(anyPod), becomeReady(anUnreadyPod)),
	replicaset("minReadySeconds that nobody lives to see", createSet(set(set1, 2, setMinReady(3600))), readySince(anyPod, 2*time.Hour),
		editSet("no minReadySeconds", set1, setMinReady(0)), editSet("an hour again", set1, setMinReady(3600))),
	replicaset("a Pod is released, and another is made", createSet(set(set1, 2)), relabel(anyPod, map[string]string{"app": "debug"}), scaleSet(set1, 3)),
	replicaset("a released Pod comes back", createSet(set(set1, 2)), relabel(anyPod, map[string]string{"app": "debug"}),
		scaleSet(set1, 3), relabel(labelled("app", "debug"), web)),
	replicaset("orphans are adopted, and count", createPod(pod("a", web)), createPod(pod("b", web)), createSet(set(set1, 3))),
	replicaset("more orphans than are wanted", createPod(pod("a", web)), createPod(pod("b", web)), createPod(pod("c", web)),
		sameReady("a", "b", "c"), restart(named("b"), 1), restart(named("c"), 2), createSet(set(set1, 1))),
	replicaset("an orphan that comes later is one too many", createSet(set(set1, 2)), createPod(pod("a", web))),
	replicaset("an orphan that has failed is left alone", createPod(pod("a", web)), fail(named("a")), createSet(set(set1, 1))),
	replicaset("a finished Pod keeps its owner when its labels change", createSet(set(set1, 1)), fail(anyPod), scaleSet(set1, 0)),
	replicaset("an orphan that ends is not adopted", createPod(pod("a", web, runsImage("lingers:1"))), deletePod(named("a")), createSet(set(set1, 1)), letGo),
	replicaset("a Pod of somebody else is left alone", createSet(set("other", 1, otherLabels)), relabel(labelled("app", "other"), web), createSet(set(set1, 1))),
	replicaset("a Pod with an owner that is not its controller is adopted", createSet(set("other", 0, otherLabels)),
		createOwnedPod("a", web, "other"), createSet(set(set1, 1))),
	replicaset("two that select the same Pods", createSet(set("one", 2)), createSet(set("two", 3)), scaleSet("one", 1), deletePod(anyPod)),
	replicaset("deleted in the background", createSet(set(set1, 3)), deleteSet(set1, background)),
	replicaset("deleted in the foreground", createSet(set(set1, 3)), deleteSet(set1, foreground)),
	replicaset("deleted in the foreground, while its Pods take their time",
		createSet(set(set1, 2, setImage("lingers:1"))), deleteSet(set1, foreground), letGo),
	replicaset("deleted without its Pods, and made again", createSet(set(set1, 3)), deleteSet(set1, orphan), createSet(set(set1, 3)), scaleSet(set1, 2)),
	replicaset("made again with another size", createSet(set(set1, 3)), deleteSet(set1, orphan), createSet(set("next", 1))),
	replicaset("its end is held up by a finalizer", createSet(set(set1, 2, held)), deleteSet(set1, background), deletePod(anyPod),
		editSet("the finalizer goes", set1, func(rs *appsv1.ReplicaSet) { rs.Finalizers = nil })),
	replicaset("Pods that take their time to end", createSet(set(set1, 3, setImage("lingers:1"))), scaleSet(set1, 1), deletePod(anyPod), letGo),
	replicaset("a Pod that ends is replaced at once", createSet(set(set1, 2, setImage("lingers:1"))), deletePod(anyPod), deletePod(anyPod), letGo),
	replicaset("a quota", createSet(set(set1, 2)), quota("4"), scaleSet(set1, 10), scaleSet(set1, 4), scaleSet(set1, 5), noQuota, scaleSet(set1, 6)),
	replicaset("a quota that allows none", quota("0"), createSet(set(set1, 3)), scaleSet(set1, 0)),
	replicaset("a ServiceAccount that does not exist", createSet(set(set1, 2, func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.ServiceAccountName = "nobody" })), scaleSet(set1, 0)),
	replicaset("Pods that fit on no node", createSet(set(set1, 2, func(rs *appsv1.ReplicaSet) { rs.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"} })), scaleSet(set1, 1)),
	loose(replicaset("scaled while it is being scaled",
		hurried(createSet(set(set1, 20))), hurried(scaleSet(set1, 3)), hurried(scaleSet(set1, 12)), scaleSet(set1, 6))),
	replicaset("a selector with expressions", createSet(set(set1, 2, func(rs *appsv1.ReplicaSet) {
		rs.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "shop"}}}}
	})), relabel(anyPod, map[string]string{"app": "shop"}), createPod(pod("a", map[string]string{"app": "shop"}))),
	replicaset("a long name", createSet(set("a-name-that-is-so-long-that-the-names-of-pods-have-to-be-cut-off-somewhere", 2))),
	replicaset("the longest name", createSet(set(strings.Repeat("w", validation.DNS1123SubdomainMaxLength), 2))),
}

func otherLabels(rs *appsv1.ReplicaSet) {
	other := map[string]string{"app": "other"}
	rs.Spec.Selector.MatchLabels, rs.Spec.Template.Labels = other, other
}

func held(rs *appsv1.ReplicaSet) { rs.Finalizers = []string{"example.com/hold"} }

// Which Pods go first is shown by Pods with names of their own, which are adopted.
var ranking = []Scenario{
	ranked("unassigned before assigned", createPod(pod("b", web, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }))),
	ranked("pending before running", createPod(pod("b", web, onNode("node-2"), runsImage("pulls:1")))),
	ranked("unready before ready", createPod(pod("b", web, onNode("node-2"), runsImage("breaks:1")))),
	ranked("deletion costs", createPod(pod("b", web, onNode("node-2"), cost("-5"))), annotate(named("c"), costs, "7")),
	ranked("large deletion costs", createPod(pod("b", web, onNode("node-2"), cost("2147483647"))), annotate(named("a"), costs, "-2147483648")),
	ranked("doubled up on a node", createPod(pod("b", web, onNode("node-1"))), sameReady("a", "b", "c"), restart(named("b"), 1)),
	ranked("ready for a shorter time", createPod(pod("b", web, onNode("node-2"))),
		readySince(named("a"), 100*time.Hour), readySince(named("b"), time.Hour), readySince(named("c"), 1000*time.Hour)),
	ranked("more restarts", createPod(pod("b", web, onNode("node-2"))), sameReady("a", "b", "c"), restart(named("b"), 3)),
}

// ranked is a ReplicaSet that adopts the Pods a and c, of which c goes first if all else is equal, and those of the steps, and is then scaled down one by one.
func ranked(name string, steps ...Step) Scenario {
	all := []Step{createPod(pod("a", web, onNode("node-1"))), createPod(pod("c", web, onNode("node-3"))), sameReady("a", "c"), restart(named("c"), 2)}
	all = append(all, steps...)
	return replicaset("who goes first: "+name, append(all, createSet(set(set1, 3)), scaleSet(set1, 2), scaleSet(set1, 1))...)
}
