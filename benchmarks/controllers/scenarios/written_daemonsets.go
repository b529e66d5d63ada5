package scenarios

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
)

// daemonsAre says how many Pods are wanted, updated and available.
func daemonsAre(wanted, updated, available int) []string {
	says := func(field string, n int) string {
		if n == 0 {
			return "DaemonSet/web.status." + field + "=(none)"
		}
		return fmt.Sprintf("DaemonSet/web.status.%s=%d", field, n)
	}
	return []string{"DaemonSet/web.status.observedGeneration=the newest", fmt.Sprintf("DaemonSet/web.status.desiredNumberScheduled=%d", wanted), says("updatedNumberScheduled", updated), says("numberAvailable", available)}
}

var (
	allDaemonsRun = daemonsAre(3, 3, 3)
	byHand        = func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
)

var daemonSetScenarios = []Scenario{
	about("daemonset", "a Pod on each node", createDaemons(daemonSet("works:1")).until(allDaemonsRun...)),
	about("daemonset", "another image",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...),
		daemonsRun("works:2").until(append([]string{"ControllerRevision=2"}, allDaemonsRun...)...)),
	about("daemonset", "a bad image, and back",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...),
		daemonsRun("breaks:1").until(daemonsAre(3, 1, 2)...),
		daemonsRun("works:1").until(append([]string{"ControllerRevision=2"}, allDaemonsRun...)...)),
	about("daemonset", "two at a time",
		createDaemons(daemonSet("works:1", daemonRolling("0", "2"))).until(allDaemonsRun...),
		daemonsRun("breaks:1").until(daemonsAre(3, 2, 1)...)),
	about("daemonset", "all at a time",
		createDaemons(daemonSet("works:1", daemonRolling("0", "100%"))).until(allDaemonsRun...),
		daemonsRun("breaks:1").until(daemonsAre(3, 3, 0)...)),
	about("daemonset", "surge",
		createDaemons(daemonSet("works:1", daemonRolling("1", "0"))).until(allDaemonsRun...),
		daemonsRun("works:2").until(append([]string{"Pod=3", "ControllerRevision=2"}, allDaemonsRun...)...)),
	about("daemonset", "surge, and the new one is never ready",
		createDaemons(daemonSet("works:1", daemonRolling("1", "0"))).until(allDaemonsRun...),
		daemonsRun("breaks:1").until("Pod=4"),
		daemonsRun("works:1").until(append([]string{"Pod=3"}, allDaemonsRun...)...)),
	about("daemonset", "replaced by hand",
		createDaemons(daemonSet("works:1", byHand)).until(allDaemonsRun...),
		daemonsRun("works:2").until(daemonsAre(3, 0, 3)...), deletePod(on("node-2")).until(daemonsAre(3, 1, 3)...)),
	about("daemonset", "on two nodes, then on another one",
		createDaemons(daemonSet("works:1", onNodes("node-1", "node-2"))).until(daemonsAre(2, 2, 2)...),
		editDaemons("other nodes", onNodes("node-3")).until(append([]string{"Pod=1"}, daemonsAre(1, 1, 1)...)...)),
	about("daemonset", "on no node",
		createDaemons(daemonSet("works:1", onNodes("nowhere"))).until("DaemonSet/web.status.observedGeneration=the newest", "Pod=0")),
	about("daemonset", "a Pod that is deleted, and one that fails",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...), deletePod(on("node-1")).until(append(podsRun("web-pod1", "web-pod2", "web-pod3"), allDaemonsRun...)...),
		fail(on("node-2")).until(append(append(podsRun("web-pod1", "web-pod2", "web-pod3"), "Pod=3"), allDaemonsRun...)...)),
	about("daemonset", "a Pod that is no longer ready",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...),
		becomeUnready(on("node-1")).until(daemonsAre(3, 3, 2)...), daemonsRun("breaks:1").until(daemonsAre(3, 1, 2)...)),
	about("daemonset", "minReadySeconds",
		createDaemons(daemonSet("works:1", func(d *appsv1.DaemonSet) { d.Spec.MinReadySeconds = 5 })).until(allDaemonsRun...)),
	about("daemonset", "a Pod is released, and another one made",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...),
		relabel(on("node-1"), map[string]string{"app": "debug"}).until(append([]string{"Pod=4"}, allDaemonsRun...)...)),
	about("daemonset", "its Pods outlive it, and are adopted",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...),
		remove("DaemonSet", "web", orphan, daemonSets).until("DaemonSet=0", "Pod=3", "ControllerRevision=1"),
		createDaemons(daemonSet("works:1")).until(append([]string{"Pod=3"}, allDaemonsRun...)...)),
	about("daemonset", "deleted with its Pods",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...),
		remove("DaemonSet", "web", foreground, daemonSets).until("DaemonSet=0", "Pod=0", "ControllerRevision=0")),
	about("daemonset", "a short history",
		createDaemons(daemonSet("works:1", func(d *appsv1.DaemonSet) { d.Spec.RevisionHistoryLimit = new(int32(1)) })).until(allDaemonsRun...),
		daemonsRun("works:2").until(append([]string{"ControllerRevision=2"}, allDaemonsRun...)...),
		daemonsRun("works:3").until(append([]string{"ControllerRevision=2", "ControllerRevision/web-rev3.revision=3"}, allDaemonsRun...)...)),
	about("daemonset", "two of its Pods on a node",
		createDaemons(daemonSet("works:1", onNodes("node-1"))).until(daemonsAre(1, 1, 1)...),
		createPod(pod("late", web, onNode("node-1"))).until("Pod=1")),
	about("daemonset", "labels and annotations of the template",
		createDaemons(daemonSet("works:1")).until(allDaemonsRun...),
		editDaemons("another annotation", func(d *appsv1.DaemonSet) {
			d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}
		}).until(append([]string{"ControllerRevision=2"}, allDaemonsRun...)...)),
}
