package hostile_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/controllers/garbagecollector"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/tests/hostile"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/mini"
)

// reads are what an informer does, and what starts it again.
var reads = []hostile.Op{hostile.Discovery, hostile.List, hostile.Watch}

// does adds operations to those of informers.
func does(ops ...hostile.Op) []hostile.Op { return append(reads[:3:3], ops...) }

// components are the rows of the matrix: the library's, then mini's.
var components = []component{
	{"informer", reads[1:], startInformer, watching},
	{"cache", reads, startCache, watching},
	{"client", does(hostile.Get, hostile.Create, hostile.Update, hostile.Status, hostile.Patch,
		hostile.Delete), startClient, writing},
	{"elector", []hostile.Op{hostile.Get, hostile.Update}, startElectors, electing},
	{"replicaset", does(hostile.Create, hostile.Status, hostile.Delete),
		library(replicaset.Add), replicas},
	{"deployment", does(hostile.Create, hostile.Status, hostile.Patch, hostile.Delete),
		library(replicaset.Add, deployment.Add), rollout},
	{"endpoints", does(hostile.Update), library(endpoints.Add),
		addresses(&corev1.EndpointsList{})}, //nolint:staticcheck // the controller's kind
	{"endpointslices", does(hostile.Update), library(endpoints.AddSlices),
		addresses(&discoveryv1.EndpointSliceList{})},
	{"garbagecollector", does(hostile.Get, hostile.Patch, hostile.Delete),
		library(garbagecollector.Add), garbage},

	{"mini-informer", reads[1:], startMiniInformer, watching},
	{"mini-elector", []hostile.Op{hostile.Get, hostile.Update}, startMiniElectors, electing},
	{"mini-replicaset", miniOps(hostile.Create, hostile.Status, hostile.Delete), miniRuns(one(mini.NewReplicaSetController)), replicas},
	{"mini-deployment", miniOps(hostile.Create, hostile.Update, hostile.Status, hostile.Delete), miniRuns(one(mini.NewReplicaSetController),
		one(mini.NewDeploymentController)), rollout},
	{"mini-endpoints", miniOps(hostile.Update), miniRuns(one(mini.NewEndpointsController)),
		addresses(&corev1.EndpointsList{})}, //nolint:staticcheck // the controller's kind
	{"mini-garbage", miniOps(hostile.Get, hostile.Patch, hostile.Delete), miniRuns(func(m *mini.Manager) (
		[]*mini.Controller, error,
	) {
		return mini.NewGarbageCollector(m, &appsv1.Deployment{}, &appsv1.ReplicaSet{},
			&corev1.Pod{})
	}), garbage},
	{"mini-namespace", miniOps(hostile.Discovery, hostile.Delete, hostile.Update), miniRuns(one(mini.NewNamespaceController)),
		emptying},
	{"mini-job", miniOps(hostile.Create, hostile.Status, hostile.Patch), miniRuns(mini.NewJobController), jobs},
	{"mini-cronjob", miniOps(hostile.Create, hostile.Status, hostile.Patch), miniRuns(mini.NewJobController, one(mini.NewCronJobController)),
		cronJobs},
	{"mini-daemonset", miniOps(), miniRuns(one(mini.NewDaemonSetController)), daemons},
	{"mini-statefulset", miniOps(hostile.Create, hostile.Status, hostile.Delete), miniRuns(one(mini.NewStatefulSetController)), stateful},
	{"mini-nodes", miniOps(), miniRuns(one(mini.NewNodeLifecycleController),
		one(mini.NewTaintEvictionController)), nodes},
}

// miniOps adds operations to those of mini's informers, which don't ask discovery for anything.
func miniOps(more ...hostile.Op) []hostile.Op { return append(reads[1:3:3], more...) }

// newManager makes a manager of the library.
func newManager(w *world) manager.Manager {
	mgr, err := manager.New(w.config(), manager.Options{
		Logger: w.Log, Metrics: server.Options{BindAddress: "0"}, Recorder: w.Trace,
		Client: client.Options{Cache: &client.CacheOptions{
			EnableReadYourWritesConsistency: new(true),
		}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(w, err)
	return mgr
}

// library starts controllers of the library in a manager.
func library(all ...func(manager.Manager, controllers.Options) error) func(*world) {
	return func(w *world) {
		mgr := newManager(w)
		for _, add := range all {
			require.NoError(w, add(mgr, controllers.Options{
				Probe: controllers.ProbeOptions{Skip: true},
			}))
		}
		w.run(mgr.Start)
	}
}

// miniCluster is mini's way through the network.
func (w *world) miniCluster() *mini.Cluster {
	cluster, err := mini.NewCluster(w.config(), scheme.Scheme)
	require.NoError(w, err)
	cluster.Trace = w.Trace
	return cluster
}

// miniRuns starts controllers of mini in a manager.
func miniRuns(all ...func(*mini.Manager) ([]*mini.Controller, error)) func(*world) {
	return func(w *world) {
		m := mini.NewManager(w.miniCluster())
		for _, make := range all {
			made, err := make(m)
			require.NoError(w, err)
			for _, c := range made {
				m.AddController(c)
			}
		}
		w.run(func(ctx context.Context) error { return m.Run(ctx) })
	}
}

func one(make func(*mini.Manager) (*mini.Controller, error)) func(*mini.Manager) (
	[]*mini.Controller, error,
) {
	return func(m *mini.Manager) ([]*mini.Controller, error) {
		c, err := make(m)
		return []*mini.Controller{c}, err
	}
}

// jobs: a Job of three Pods runs, and during the fault and after it there's another one.
var jobs = story{
	kinds:   lists(&batchv1.JobList{}, &corev1.PodList{}),
	kubelet: true,
	before:  func(w *world) { w.create(job("first")) },
	during:  func(w *world) { w.create(job("second")) },
	after:   func(w *world) { w.create(job("third")) },
	state:   dump(lists(&batchv1.JobList{}, &corev1.PodList{})),
	enough: func(w *world) string {
		var all batchv1.JobList
		w.must(w.User.List(w.ctx, &all))
		var lines []string
		for _, j := range all.Items {
			enough := j.Status.Succeeded >= *j.Spec.Completions
			lines = append(lines, fmt.Sprint(j.Name, " ", enough, j.Status.CompletionTime != nil))
		}
		var pods corev1.PodList
		w.must(w.User.List(w.ctx, &pods))
		for _, pod := range pods.Items {
			if pod.Status.Phase != corev1.PodSucceeded || len(pod.Finalizers) > 0 {
				lines = append(lines, describe(&pod))
			}
		}
		return strings.Join(lines, "\n")
	},
}

func job(name string) *batchv1.Job {
	made := &batchv1.Job{ObjectMeta: named(name), Spec: batchv1.JobSpec{
		Completions: new(int32(3)), Parallelism: new(int32(2)), Template: template("v1"),
	}}
	made.Spec.Template.Labels = nil
	made.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return made
}
