package main

import "strings"

// steps creates, changes and deletes an object of each kind that mini's controllers reconcile.
// NAMESPACE and IMAGE in a text become those of the demo.
func steps(namespace, image string) []step {
	fill := strings.NewReplacer("NAMESPACE", namespace, "IMAGE", image)
	all := allSteps
	for i := range all {
		for j := range all[i].commands {
			l := &all[i].commands[j]
			l.command, l.stdin = fill.Replace(l.command), fill.Replace(l.stdin)
		}
	}
	return all
}

// nothing is what a command prints if there is nothing.
const nothing = " "

var allSteps = []step{
	{"Deployment, ReplicaSet, Endpoints: a rollout, and the garbage collector", []line{
		{command: "create deployment web --image=IMAGE --replicas=2 -n NAMESPACE"},
		{command: "create service clusterip web --tcp=80 -n NAMESPACE"},
		{command: "get deployment web -n NAMESPACE -o jsonpath={.status.availableReplicas}", want: "2"},
		{command: "get endpoints web -n NAMESPACE -o jsonpath={.subsets[0].ports[0].port}", want: "80"},
		{command: "set env deployment web VERSION=2 -n NAMESPACE"},
		{command: "rollout status deployment web -n NAMESPACE --timeout=60s"},
		{command: "scale deployment web --replicas=3 -n NAMESPACE"},
		{command: "get deployment web -n NAMESPACE -o jsonpath={.status.availableReplicas}", want: "3"},
		{command: "rollout undo deployment web -n NAMESPACE"},
		{command: "rollout status deployment web -n NAMESPACE --timeout=60s"},
		{command: "delete deployment web --cascade=foreground -n NAMESPACE --timeout=60s"},
		{command: "get replicasets,pods -n NAMESPACE -o name", want: nothing},
		{command: "delete service web -n NAMESPACE"},
		{command: "get endpoints -n NAMESPACE -o name", want: nothing},
	}},
	{"Job: suspended, resumed, complete", []line{
		{command: "create -n NAMESPACE -f -", stdin: `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {
			"suspend": true, "completions": 3, "parallelism": 2, "template": {"spec": {
			"restartPolicy": "Never", "containers": [{"name": "c", "image": "IMAGE"}]}}}}`},
		{command: "get job once -n NAMESPACE -o jsonpath={.status.conditions[0].type}", want: "Suspended"},
		{command: `patch job once -n NAMESPACE -p {"spec":{"suspend":false}}`},
		{command: "wait job once --for=condition=complete -n NAMESPACE --timeout=60s"},
		{command: "get job once -n NAMESPACE -o jsonpath={.status.succeeded}", want: "3"},
		{command: "delete job once -n NAMESPACE"},
		{command: "get pods -n NAMESPACE -o name", want: nothing},
	}},
	{"CronJob: the next full minute, and then suspended", []line{
		{command: "create -n NAMESPACE -f -", stdin: `{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": {
			"schedule": "* * * * *", "jobTemplate": {"metadata": {"labels": {"of": "tick"}}, "spec": {"template": {"spec": {
			"restartPolicy": "Never", "containers": [{"name": "c", "image": "IMAGE"}]}}}}}}`},
		{command: "get jobs -l of=tick -n NAMESPACE -o jsonpath={.items[0].status.succeeded}", want: "1"},
		{command: `patch cronjob tick -n NAMESPACE -p {"spec":{"suspend":true}}`},
		{command: "delete cronjob tick -n NAMESPACE"},
		{command: "get jobs,pods -n NAMESPACE -o name", want: nothing},
	}},
	{"DaemonSet: a Pod on each node, and a new template", []line{
		{command: "create -n NAMESPACE -f -", stdin: `{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
			"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}}, "spec": {
			"containers": [{"name": "c", "image": "IMAGE"}]}}}}`},
		{command: "rollout status daemonset agent -n NAMESPACE --timeout=60s"},
		{command: "get daemonset agent -n NAMESPACE -o jsonpath={.status.numberAvailable}", want: "3"},
		{command: "set env daemonset agent VERSION=2 -n NAMESPACE"},
		{command: "rollout status daemonset agent -n NAMESPACE --timeout=90s"},
		{command: "rollout undo daemonset agent -n NAMESPACE"},
		{command: "rollout status daemonset agent -n NAMESPACE --timeout=90s"},
		{command: "delete daemonset agent -n NAMESPACE"},
		{command: "get pods,controllerrevisions -n NAMESPACE -o name", want: nothing},
	}},
	{"StatefulSet: one after the other", []line{
		{command: "create -n NAMESPACE -f -", stdin: `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {
			"replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": {
			"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "IMAGE"}]}}}}`},
		{command: "rollout status statefulset db -n NAMESPACE --timeout=60s"},
		{command: "get pods -n NAMESPACE -o name", want: "pod/db-0 pod/db-1"},
		{command: "scale statefulset db --replicas=3 -n NAMESPACE"},
		{command: "get statefulset db -n NAMESPACE -o jsonpath={.status.readyReplicas}", want: "3"},
		{command: "set env statefulset db VERSION=2 -n NAMESPACE"},
		{command: "rollout status statefulset db -n NAMESPACE --timeout=90s"},
		{command: "scale statefulset db --replicas=1 -n NAMESPACE"},
		{command: "get pods -n NAMESPACE -o name", want: "pod/db-0"},
		{command: "delete statefulset db -n NAMESPACE"},
		{command: "get pods,controllerrevisions -n NAMESPACE -o name", want: nothing},
	}},
	{"Node: created, cordoned, tainted, deleted", []line{
		{command: "create -f -", stdin: `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "NAMESPACE",
			"annotations": {"kwok.x-k8s.io/node": "fake"}}, "spec": {"podCIDR": "10.245.0.0/24"}}`},
		{command: "wait node NAMESPACE --for=condition=ready --timeout=60s"},
		{command: "get node NAMESPACE -o jsonpath={.spec.taints}", want: nothing},
		{command: "cordon NAMESPACE"},
		{command: "get node NAMESPACE -o jsonpath={.spec.taints[*].key}", want: "node.kubernetes.io/unschedulable"},
		{command: "uncordon NAMESPACE"},
		{command: "get node NAMESPACE -o jsonpath={.spec.taints}", want: nothing},
		{command: "create -n NAMESPACE -f -", stdin: `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "delicate"}, "spec": {
			"nodeName": "NAMESPACE", "containers": [{"name": "c", "image": "IMAGE"}]}}`},
		{command: "wait pod delicate --for=condition=ready -n NAMESPACE --timeout=60s"},
		{command: "taint node NAMESPACE broken=true:NoExecute"},
		{command: "get pods -n NAMESPACE -o name", want: nothing},
		{command: "delete node NAMESPACE"},
	}},
	{"Namespace: labelled, and deleted with what is in it", []line{
		{command: "create configmap left -n NAMESPACE"},
		{command: "create deployment left --image=IMAGE -n NAMESPACE"},
		{command: "label namespace NAMESPACE color=red"},
		{command: "delete namespace NAMESPACE --timeout=90s"},
		{command: "get all,configmaps,secrets -n NAMESPACE -o name", want: nothing},
	}},
}
