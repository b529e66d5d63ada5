// Package all makes all controllers of mini: those whose originals do not run in the cluster.
package all

import (
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/mini"
)

// collected are the kinds of objects that have an owner, or are one, in a cluster of these controllers.
var collected = []mini.Object{
	&appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.DaemonSet{}, &appsv1.StatefulSet{}, &appsv1.ControllerRevision{},
	&batchv1.Job{}, &batchv1.CronJob{}, &corev1.Pod{}, &corev1.Service{}, &corev1.Endpoints{},
}

// makers has the controllers by the names of their originals.
var makers = []struct {
	original string
	make     func(m *mini.Manager) ([]*mini.Controller, error)
}{
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

// Controllers returns the controllers whose originals are off in a cluster that was made with
// these Options.Originals, and the names of the originals. Two controllers of one kind would undo
// each other's work.
func Controllers(m *mini.Manager, originals []string) (all []*mini.Controller, names []string, err error) {
	for _, maker := range makers {
		off := slices.Equal(originals, []string{cluster.Bare}) || slices.Contains(originals, "-"+maker.original)
		if slices.Contains(cluster.SampleControllers, maker.original) {
			off = !slices.Contains(originals, maker.original)
		}
		if !off {
			continue
		}
		made, err := maker.make(m)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, made...)
		names = append(names, strings.TrimSuffix(maker.original, "-controller"))
	}
	if len(all) == 0 {
		return nil, nil, errors.New("the cluster runs all of the originals")
	}
	return all, names, nil
}

// Originals returns the names of the originals, by which kube-controller-manager and the probes know them,
// of controllers with these names.
func Originals(names []string) (originals []string) {
	for _, name := range names {
		originals = append(originals, name+"-controller")
	}
	return originals
}
