package scenarios

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
)

// statefulIs says how many Pods there are, are updated and available.
func statefulIs(there, updated, available int) []string {
	says := func(field string, n int) string {
		if n == 0 {
			return "StatefulSet/web.status." + field + "=(none)"
		}
		return fmt.Sprintf("StatefulSet/web.status.%s=%d", field, n)
	}
	return []string{"StatefulSet/web.status.observedGeneration=the newest", fmt.Sprintf("Pod=%d", there), fmt.Sprintf("StatefulSet/web.status.replicas=%d", there), says("updatedReplicas", updated),
		fmt.Sprintf("StatefulSet/web.status.availableReplicas=%d", available)}
}

// podRuns says which image a Pod has.
func podRuns(name, image string) string {
	return "Pod/" + name + ".spec.containers[main].image=" + image
}

var statefulSetScenarios = []Scenario{
	about("statefulset", "one after the other", createStateful(statefulSet(3, "works:1")).until(statefulIs(3, 3, 3)...)),
	about("statefulset", "the first is never ready",
		createStateful(statefulSet(3, "breaks:1")).until("Pod=1", "StatefulSet/web.status.replicas=1"),
		becomeReady(named("web-0")).until("Pod=2", "StatefulSet/web.status.readyReplicas=1")),
	about("statefulset", "all at once",
		createStateful(statefulSet(3, "breaks:1", parallel)).until("Pod=3", "StatefulSet/web.status.replicas=3")),
	about("statefulset", "scaled up and down",
		createStateful(statefulSet(1, "works:1")).until(statefulIs(1, 1, 1)...),
		scaleStateful(3).until(statefulIs(3, 3, 3)...), scaleStateful(1).until(statefulIs(1, 1, 1)...),
		scaleStateful(0).until("Pod=0", "StatefulSet/web.status.replicas=0")),
	about("statefulset", "scaled down while one lingers",
		createStateful(statefulSet(3, "lingers:1")).until(statefulIs(3, 3, 3)...), scaleStateful(1).until("Pod=3", "Pod/web-2.metadata.deletionTimestamp=<time>"),
		letGo.until("Pod=2", "Pod/web-1.metadata.deletionTimestamp=<time>"), letGo.until(statefulIs(1, 1, 1)...)),
	about("statefulset", "another image",
		createStateful(statefulSet(3, "works:1")).until(statefulIs(3, 3, 3)...),
		statefulRuns("works:2").until(append(statefulIs(3, 3, 3), "ControllerRevision=2", podRuns("web-0", "works:2"), "StatefulSet/web.status.currentRevision=web-rev2")...)),
	about("statefulset", "a bad image, and back",
		createStateful(statefulSet(3, "works:1")).until(statefulIs(3, 3, 3)...),
		statefulRuns("breaks:1").until(statefulIs(3, 1, 2)...),
		statefulRuns("works:1").until("Pod=3", "StatefulSet/web.status.observedGeneration=the newest").
			differs([]string{podRuns("web-2", "breaks:1")}, []string{podRuns("web-2", "works:1"), "StatefulSet/web.status.availableReplicas=3"}),
		deletePod(named("web-2")).until(statefulIs(3, 3, 3)...)),
	about("statefulset", "a partition",
		createStateful(statefulSet(3, "works:1", partition(2))).until(statefulIs(3, 3, 3)...),
		statefulRuns("works:2").until(append(statefulIs(3, 1, 3), podRuns("web-2", "works:2"), podRuns("web-1", "works:1"))...),
		deletePod(named("web-0")).until(append(podsRun("web-0"), append(statefulIs(3, 1, 3), podRuns("web-0", "works:1"))...)...),
		editStateful("a partition of 0", partition(0)).until(append(statefulIs(3, 3, 3), podRuns("web-0", "works:2"))...)),
	about("statefulset", "replaced by hand",
		createStateful(statefulSet(2, "works:1", func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		})).until(statefulIs(2, 2, 2)...),
		statefulRuns("works:2").until(statefulIs(2, 0, 2)...),
		deletePod(named("web-0")).until(append(statefulIs(2, 1, 2), podRuns("web-0", "works:2"))...)),
	about("statefulset", "a Pod that is deleted, and one that fails",
		createStateful(statefulSet(3, "works:1")).until(statefulIs(3, 3, 3)...),
		deletePod(named("web-1")).until(append(podsRun("web-0", "web-1", "web-2"), statefulIs(3, 3, 3)...)...), fail(named("web-0")).until(append(podsRun("web-0", "web-1", "web-2"), statefulIs(3, 3, 3)...)...)),
	about("statefulset", "a Pod that is no longer ready stops the others",
		createStateful(statefulSet(2, "works:1")).until(statefulIs(2, 2, 2)...),
		becomeUnready(named("web-0")).until(statefulIs(2, 2, 1)...),
		scaleStateful(3).until("Pod=2", "StatefulSet/web.status.observedGeneration=the newest"),
		becomeReady(named("web-0")).until(statefulIs(3, 3, 3)...)),
	about("statefulset", "claims",
		createStateful(statefulSet(2, "works:1", claims)).until("Pod=1", "PersistentVolumeClaim=1", "Pod/web-0.status.phase=Pending")),
	about("statefulset", "claims that go with the StatefulSet",
		createStateful(statefulSet(2, "works:1", claims, parallel, func(s *appsv1.StatefulSet) {
			s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
		})).until("Pod=2", "PersistentVolumeClaim=2", "StatefulSet/web.status.replicas=2"),
		scaleStateful(1).until("Pod=1", "PersistentVolumeClaim=1"),
		remove("StatefulSet", "web", background, statefulSets).until("StatefulSet=0", "Pod=0", "PersistentVolumeClaim=0")),
	about("statefulset", "claims that stay",
		createStateful(statefulSet(2, "works:1", claims, parallel)).until("Pod=2", "PersistentVolumeClaim=2", "StatefulSet/web.status.replicas=2"),
		scaleStateful(1).until("Pod=1", "PersistentVolumeClaim=2", "StatefulSet/web.status.replicas=1"),
		remove("StatefulSet", "web", background, statefulSets).until("StatefulSet=0", "Pod=0", "PersistentVolumeClaim=2")),
	about("statefulset", "numbers that do not begin with 0",
		createStateful(statefulSet(2, "works:1", func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} })).until(append(statefulIs(2, 2, 2), podRuns("web-6", "works:1"))...)),
	about("statefulset", "minReadySeconds",
		createStateful(statefulSet(2, "works:1", func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 4 })).until(statefulIs(2, 2, 2)...)),
	about("statefulset", "its Pods outlive it, and are adopted",
		createStateful(statefulSet(2, "works:1")).until(statefulIs(2, 2, 2)...),
		remove("StatefulSet", "web", orphan, statefulSets).until("StatefulSet=0", "Pod=2"),
		createStateful(statefulSet(2, "works:1")).until(statefulIs(2, 2, 2)...)),
	about("statefulset", "somebody else has the name of a Pod",
		createPod(pod("web-0", map[string]string{"app": "other"})).until("Pod/web-0.status.phase=Running"),
		createStateful(statefulSet(1, "works:1")).until("Pod=1", "StatefulSet/web.status.observedGeneration=the newest"),
		deletePod(named("web-0")).until(statefulIs(1, 1, 1)...)),
	about("statefulset", "a short history",
		createStateful(statefulSet(1, "works:1", func(s *appsv1.StatefulSet) { s.Spec.RevisionHistoryLimit = new(int32(1)) })).until(statefulIs(1, 1, 1)...),
		statefulRuns("works:2").until(append(statefulIs(1, 1, 1), podRuns("web-0", "works:2"))...),
		statefulRuns("works:3").until(append(statefulIs(1, 1, 1), podRuns("web-0", "works:3"), "ControllerRevision=2")...)),
	about("statefulset", "deleted with its Pods",
		createStateful(statefulSet(2, "works:1")).until(statefulIs(2, 2, 2)...),
		remove("StatefulSet", "web", foreground, statefulSets).until("StatefulSet=0", "Pod=0", "ControllerRevision=0")),
}
