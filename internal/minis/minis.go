// Package minis has the list of all controllers of mini, for the programs that run them: on a cluster
// (mini/cmd) and in a page (playground/world).
package minis

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/mini"
)

// Maker makes a controller, or several that belong together.
type Maker struct {
	Original string // the name of Kubernetes' own
	Make     func(m *mini.Manager) ([]*mini.Controller, error)
}

// collected are the kinds of objects that have an owner, or are one, in a cluster of these controllers.
var collected = []mini.Object{
	&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.DaemonSet{}, &appsv1.StatefulSet{}, &appsv1.ControllerRevision{},
	&batchv1.Job{}, &batchv1.CronJob{}, &corev1.Pod{}, &corev1.Service{}, &corev1.Endpoints{},
}

// Makers has all of them.
var Makers = []Maker{
	{"replicaset-controller", one(mini.NewReplicaSetController)},
	{"deployment-controller", one(mini.NewDeploymentController)},
	{"endpoints-controller", one(mini.NewEndpointsController)},
	{"garbage-collector-controller", func(m *mini.Manager) ([]*mini.Controller, error) {
		return mini.NewGarbageCollector(m, collected...)
	}},
	{"namespace-controller", one(mini.NewNamespaceController)},
	{"job-controller", mini.NewJobController},
	{"cronjob-controller", one(mini.NewCronJobController)},
	{"daemonset-controller", one(mini.NewDaemonSetController)},
	{"statefulset-controller", one(mini.NewStatefulSetController)},
	{"node-lifecycle-controller", one(mini.NewNodeLifecycleController)},
	{"taint-eviction-controller", one(mini.NewTaintEvictionController)},
}

func one(
	make func(*mini.Manager) (*mini.Controller, error),
) func(*mini.Manager) ([]*mini.Controller, error) {
	return func(m *mini.Manager) ([]*mini.Controller, error) {
		c, err := make(m)
		return []*mini.Controller{c}, err
	}
}
