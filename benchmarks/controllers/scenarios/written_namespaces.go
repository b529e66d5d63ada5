package scenarios

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

var namespaceScenarios = []Scenario{
	about("namespace", "an empty one", deleteNamespace.until(namespaceIsGone)),
	about("namespace", "with objects",
		configMap("a").until("ConfigMap=1"), configMap("b").until("ConfigMap=2"),
		deleteNamespace.until(namespaceIsGone, "ConfigMap=0")),
	about("namespace", "with a Deployment, whose Pods end at once",
		deploy(deployment(app, 3, rolling("25%", "25%"))).until("Deployment/web.status.readyReplicas=3"),
		deleteNamespace.until(namespaceIsGone, "Pod=0", "ReplicaSet=0")),
	about("namespace", "with a Pod that takes its time",
		createPod(pod("a", web, runsImage("lingers:1"), func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(60)) })).until("Pod/a.status.phase=Running"),
		deleteNamespace.until("Pod/a.metadata.deletionTimestamp=<time>", says(corev1.NamespaceDeletionDiscoveryFailure, "False")),
		letGo.until(namespaceIsGone)),
	about("namespace", "with an object that has a finalizer",
		configMap("a", "example.com/hold").until("ConfigMap=1"), configMap("b").until("ConfigMap=2"),
		deleteNamespace.until("ConfigMap=1", says(corev1.NamespaceFinalizersRemaining, "True")),
		freeConfigMap("a").until(namespaceIsGone)),
	about("namespace", "with two kinds that have finalizers",
		configMap("a", "example.com/hold", "example.com/other").until("ConfigMap=1"),
		createPod(pod("p", web, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })).until("Pod/p.status.phase=Running"),
		deleteNamespace.until("ConfigMap=1", "Pod/p.metadata.deletionGracePeriodSeconds=0", says(corev1.NamespaceDeletionDiscoveryFailure, "False")),
		freeConfigMap("a").until("Pod=1"),
		edit("the finalizers of the Pod go", "p", pods, func(p *corev1.Pod) { p.Finalizers = nil }).until(namespaceIsGone)),
	about("namespace", "nothing new comes while it ends",
		configMap("a", "example.com/hold").until("ConfigMap=1"),
		deleteNamespace.until("ConfigMap=1", says(corev1.NamespaceFinalizersRemaining, "True")),
		refused(configMap("b")).until("ConfigMap=1"), freeConfigMap("a").until(namespaceIsGone)),
	about("namespace", "with a finalizer of its own, in the spec",
		specFinalizers("another finalizer", func(all []corev1.FinalizerName) []corev1.FinalizerName {
			return append(all, "example.com/hold")
		}).until("Namespace=1"),
		configMap("a").until("ConfigMap=1"),
		deleteNamespace.until("ConfigMap=0", "Namespace=1", "Namespace/<namespace>.spec.finalizers[0]=example.com/hold"),
		specFinalizers("it goes", func(all []corev1.FinalizerName) []corev1.FinalizerName {
			return slices.DeleteFunc(all, func(f corev1.FinalizerName) bool { return f == "example.com/hold" })
		}).until(namespaceIsGone)),
	about("namespace", "with a finalizer of its own, in the metadata",
		editNamespace("another finalizer", func(n *corev1.Namespace) { n.Finalizers = []string{"example.com/hold"} }).until("Namespace=1"),
		configMap("a").until("ConfigMap=1"),
		deleteNamespace.until("ConfigMap=0", "Namespace/<namespace>.spec.finalizers[0]=(none)"),
		editNamespace("it goes", func(n *corev1.Namespace) { n.Finalizers = nil }).until(namespaceIsGone)),
	about("namespace", "with a Job, whose Pods have a finalizer",
		createJob(job("works:1", completions(2, 2))).until("Job/web.status.ready=2"),
		deleteNamespace.until(namespaceIsGone, "Pod=0", "Job=0")),
	about("namespace", "with a StatefulSet and its claims",
		createStateful(statefulSet(1, "works:1", claims)).until("Pod=1", "PersistentVolumeClaim=1"),
		deleteNamespace.until(namespaceIsGone, "Pod=0", "PersistentVolumeClaim=0")),
}
