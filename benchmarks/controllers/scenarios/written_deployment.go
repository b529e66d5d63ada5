package scenarios

import (
	"math"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func of(name string, steps ...Step) Scenario { return about("deployment", name, steps...) }

// stuck is a rollout that stops halfway, because the new Pods are never ready.
func stuck(replicas int32, options ...option) []Step {
	return []Step{deploy(deployment(app, replicas, options...)), roll("breaks:1")}
}

func then(steps []Step, more ...Step) []Step { return append(steps[:len(steps):len(steps)], more...) }

var deploymentScenarios = []Scenario{
	of("scale up, down, and to 0", deploy(deployment(app, 3)), scale(6), scale(2), scale(0), scale(1)),
	of("of none", deploy(deployment(app, 0)), roll("works:2"), scale(2)),
	of("a rollout", deploy(deployment(app, 4)), roll("works:2")),
	of("a rollout with numbers", deploy(deployment(app, 5, rolling("2", "1"))), roll("works:2"), roll("works:3")),
	of("a rollout with percentages that are rounded", deploy(deployment(app, 7, rolling("30%", "30%"))), roll("works:2")),
	of("a rollout without surge", deploy(deployment(app, 4, rolling("0", "1"))), roll("works:2")),
	of("a rollout without a missing Pod", deploy(deployment(app, 4, rolling("1", "0"))), roll("works:2")),
	of("percentages that are rounded to none", deploy(deployment(app, 3, rolling("0", "1%"))), roll("works:2")),
	of("all at once", deploy(deployment(app, 4, rolling("100%", "100%"))), roll("works:2")),
	of("minReadySeconds in a rollout", deploy(deployment(app, 2, minReady(1))), roll("works:2")),
	of("Recreate", deploy(deployment(app, 3, recreate)), roll("works:2"), scale(5)),
	of("Recreate waits for old Pods", deploy(deployment(app, 2, recreate, runs("lingers:1"))), roll("lingers:2"), letGo, scale(1), letGo),
	of("Recreate with Pods that have failed", deploy(deployment(app, 2, recreate)), fail(anyPod), roll("works:2")),
	of("from Recreate to RollingUpdate", deploy(deployment(app, 3, recreate)), editApp("roll from now on", rolling("1", "1")), roll("works:2")),
	of("rolling with Pods that take their time to end", deploy(deployment(app, 3, runs("lingers:1"))), roll("lingers:2"), letGo),
	of("a bad image", stuck(4)...),
	of("a bad image, and back", then(stuck(4), undo(1))...),
	of("a bad image, and forward", then(stuck(4), roll("works:2"))...),
	of("three bad images", then(stuck(6), roll("breaks:2"), roll("pulls:3"), roll("works:4"))...),
	of("bad Pods become ready after all", then(stuck(3), becomeReady(anUnreadyPod), becomeReady(anUnreadyPod), becomeReady(anUnreadyPod))...),
	of("the progress deadline", then(stuck(3, deadline(2)), roll("works:2"))...),
	of("the progress deadline of a new Deployment", deploy(deployment(app, 2, deadline(2), runs("breaks:1"))), becomeReady(anUnreadyPod), becomeReady(anUnreadyPod)),
	of("scaled after the progress deadline", then(stuck(3, deadline(2)), scale(6))...),
	of("undo to the one before, and again", deploy(deployment(app, 2)), roll("works:2"), undo(1), undo(2)),
	of("undo to what there is", deploy(deployment(app, 2)), roll("works:2"), undo(2)),
	of("many revisions, and back to the first", deploy(deployment(app, 1)), roll("works:2"), roll("works:3"), roll("works:4"), undo(1)),
	of("a short history", deploy(deployment(app, 1, history(1))), roll("works:2"), roll("works:3"), roll("works:4")),
	of("no history", deploy(deployment(app, 1, history(0))), roll("works:2"), roll("works:3")),
	of("a history that becomes shorter", deploy(deployment(app, 1)), roll("works:2"), roll("works:3"), editApp("keep one", history(1))),
	of("paused from the beginning", deploy(deployment(app, 2, paused(true))), resume),
	of("changed while paused", deploy(deployment(app, 3)), pause, roll("works:2"), roll("works:3"), resume),
	of("scaled while paused", deploy(deployment(app, 3)), pause, scale(5), scale(1), resume),
	of("paused in the middle of a rollout", then(stuck(4), pause, scale(8), resume)...),
	of("paused with a progress deadline", deploy(deployment(app, 2, deadline(2))), pause, roll("breaks:1"), resume),
	of("paused, and the old template again", deploy(deployment(app, 2)), pause, roll("works:2"), roll("works:1"), resume),
	of("scaled up in the middle of a rollout", then(stuck(10, rolling("3", "2")), scale(15))...),
	of("scaled down in the middle of a rollout", then(stuck(10, rolling("3", "2")), scale(5))...),
	of("scaled to 0 and back in the middle of a rollout", then(stuck(6), scale(0), scale(6))...),
	of("proportional shares of three ReplicaSets", then(stuck(10, rolling("5", "2")), roll("breaks:2"), scale(20), scale(7))...),
	of("surge changed in the middle of a rollout", then(stuck(6, rolling("1", "0")), editApp("surge of 3", rolling("3", "0")), editApp("2 may be missing", rolling("1", "2")))...),
	of("restarted", deploy(deployment(app, 3)), editApp("restart", templateNote("now")), editApp("restart", templateNote("later"))),
	of("labels and annotations of the Deployment change", deploy(deployment(app, 2)), editApp("annotate", func(d *appsv1.Deployment) {
		d.Annotations["note"], d.Labels["team"] = "a", "b"
	}), roll("works:2"), editApp("remove the note", func(d *appsv1.Deployment) { delete(d.Annotations, "note") })),
	of("a change cause", deploy(deployment(app, 1, func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{"kubernetes.io/change-cause": "first", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
	})), editApp("another image, with a cause", both(runs("works:2"), func(d *appsv1.Deployment) { d.Annotations["kubernetes.io/change-cause"] = "second" })), undo(1)),
	of("another label in the template", deploy(deployment(app, 2)), editApp("another label", func(d *appsv1.Deployment) { d.Spec.Template.Labels["tier"] = "front" })),
	of("minReadySeconds changes", deploy(deployment(app, 2)), editApp("minReadySeconds of 1", minReady(1)), editApp("none", minReady(0))),
	of("a Pod is deleted", deploy(deployment(app, 3)), deletePod(anyPod), deleteAllPods),
	of("a Pod fails", deploy(deployment(app, 3)), fail(anyPod), roll("works:2")),
	of("Pods become unready", deploy(deployment(app, 4)), becomeUnready(anyPod), becomeUnready(aReadyPod), becomeReady(anUnreadyPod)),
	of("Pods are unready when the rollout begins", deploy(deployment(app, 4)), becomeUnready(anyPod), becomeUnready(aReadyPod), roll("works:2")),
	of("a Pod is taken out", deploy(deployment(app, 2)), addLabel(anyPod, "app", "debug"), roll("works:2")),
	of("a Pod loses its hash", deploy(deployment(app, 2)), addLabel(anyPod, "pod-template-hash", ""), scale(3)),
	loose(of("a ReplicaSet is scaled by hand", deploy(deployment(app, 3)), changeRevision("scale to 5", 1, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(5)) }))),
	loose(of("an old ReplicaSet is scaled by hand", deploy(deployment(app, 2)), roll("works:2"), changeRevision("scale to 2", 1, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(2)) }))),
	of("a ReplicaSet is deleted", deploy(deployment(app, 2)), deleteRevision(1, background)),
	of("a ReplicaSet is deleted without its Pods", deploy(deployment(app, 2)), deleteRevision(1, orphan)),
	of("an old ReplicaSet is deleted", deploy(deployment(app, 2)), roll("works:2"), deleteRevision(1, background), roll("works:1")),
	of("a ReplicaSet is taken out", deploy(deployment(app, 2)), changeRevision("take out", 1, func(rs *appsv1.ReplicaSet) { rs.Labels["app"] = "other" })),
	of("an old ReplicaSet is taken out, and comes back", deploy(deployment(app, 1)), roll("works:2"),
		changeRevision("take out", 1, func(rs *appsv1.ReplicaSet) { rs.Labels["app"] = "other" }),
		changeRevision("bring back", 1, func(rs *appsv1.ReplicaSet) { rs.Labels["app"] = "web" })),
	of("a ReplicaSet that nobody owns is adopted", createSet(set("old", 2, setImage("works:0"))), deploy(deployment(app, 2))),
	of("a ReplicaSet with the same template is adopted", createSet(set("old", 2)), deploy(deployment(app, 2))),
	of("a ReplicaSet loses its revision", deploy(deployment(app, 1)), changeRevision("remove the annotations of", 1, func(rs *appsv1.ReplicaSet) { rs.Annotations = nil })),
	of("a ReplicaSet has another size on its label", then(stuck(4), changeRevision("falsify", 1, func(rs *appsv1.ReplicaSet) { rs.Annotations["deployment.kubernetes.io/desired-replicas"] = "9" }))...),
	of("a hash that is taken", collide(2)...),
	of("deleted in the background", deploy(deployment(app, 2)), deleteDeployment(background)),
	of("deleted in the foreground", deploy(deployment(app, 2)), roll("works:2"), deleteDeployment(foreground)),
	of("deleted without its ReplicaSets, and made again", deploy(deployment(app, 2)), roll("works:2"), deleteDeployment(orphan), deploy(deployment(app, 3))),
	of("made again with another template", deploy(deployment(app, 2)), deleteDeployment(orphan), deploy(deployment(app, 2, runs("works:2")))),
	of("its end is held up by a finalizer", deploy(deployment(app, 2, func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/hold"} })),
		deleteDeployment(background), scale(4), editApp("the finalizer goes", func(d *appsv1.Deployment) { d.Finalizers = nil })),
	of("a quota", deploy(deployment(app, 2)), quota("2"), roll("works:2"), noQuota, scale(3)),
	of("more replicas and surge than fit into a number", quota("0"), deploy(deployment(app, math.MaxInt32)), scale(0)),
	of("Pods that fit on no node", deploy(deployment(app, 3)), editApp("a node that is not there", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	}), undo(1)),
	of("a selector with expressions", deploy(deployment(app, 2, func(d *appsv1.Deployment) {
		d.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	})), roll("works:2")),
	of("two that select different Pods", deploy(deployment(app, 2)), deploy(deployment("shop", 2, labelledAs("shop"))), roll("works:2")),
	of("which of its Pods go first", deploy(deployment(app, 3, runs("lingers:1"))), becomeUnready(anyPod), scale(2), letGo),
	loose(of("scaled again and again", hurried(deploy(deployment(app, 6))), hurried(scale(9)), hurried(scale(2)), scale(5))),
	loose(of("back while it rolls", deploy(deployment(app, 8)), hurried(roll("works:2")), roll("works:1"))),
	loose(of("scaled while it rolls", deploy(deployment(app, 8)), hurried(roll("works:2")), hurried(scale(4)), scale(10))),
	loose(of("paused while it rolls", deploy(deployment(app, 8)), hurried(roll("works:2")), hurried(pause), resume)),
}

func labelledAs(name string) option {
	return func(d *appsv1.Deployment) {
		labels := map[string]string{"app": name}
		d.Labels, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = labels, labels, labels
	}
}
