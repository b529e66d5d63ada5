package controllers

import (
	"context"
	"errors"
	"os"
	"slices"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/benchmarks/controllers/stage"
	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/mini"
)

// Set are controllers that take the places of originals.
type Set []struct {
	original string
	run      func(ctx context.Context, config *rest.Config, workers int) error
}

// Library are this library's.
var Library = Set{
	{"deployment-controller", deployment.Run},
	{"replicaset-controller", replicaset.Run},
	{"endpoints-controller", endpoints.Run},
}

// Mini are those of package mini.
var Mini = Set{
	{"deployment-controller", ofMini(mini.NewDeploymentController)},
	{"replicaset-controller", ofMini(mini.NewReplicaSetController)},
	{"endpoints-controller", ofMini(mini.NewEndpointsController)},
}

// MiniRest are those that only mini has.
var MiniRest = Set{
	{"namespace-controller", ofMini(mini.NewNamespaceController)},
	{"job-controller", allOfMini(mini.NewJobController)},
	{"cronjob-controller", ofMini(mini.NewCronJobController)},
	{"daemonset-controller", ofMini(mini.NewDaemonSetController)},
	{"statefulset-controller", ofMini(mini.NewStatefulSetController)},
	{"node-lifecycle-controller", ofMini(mini.NewNodeLifecycleController)},
	{"taint-eviction-controller", ofMini(mini.NewTaintEvictionController)},
}

// ofMini runs one of mini's controllers with a manager of its own.
func ofMini(add func(*mini.Manager) (*mini.Controller, error)) func(context.Context, *rest.Config, int) error {
	return allOfMini(func(m *mini.Manager) ([]*mini.Controller, error) {
		c, err := add(m)
		return []*mini.Controller{c}, err
	})
}

// allOfMini is for those that are more than one controller.
func allOfMini(add func(*mini.Manager) ([]*mini.Controller, error)) func(context.Context, *rest.Config, int) error {
	return func(ctx context.Context, config *rest.Config, workers int) error {
		cluster, err := mini.NewCluster(config, scheme.Scheme)
		if err != nil {
			return err
		}
		m := mini.NewManager(cluster)
		all, err := add(m)
		if err != nil {
			return err
		}
		for _, c := range all {
			c.Workers = workers
			m.AddController(c)
		}
		return m.Run(ctx)
	}
}

// Seeds is how many random scenarios belong to a comparison.
const Seeds = 200

// workers is how many objects a controller reconciles at a time: as many as the original does.
const workers = 5

// Open brings both worlds up: one with the originals, and one with ours. Without any, it is one world, and the originals are
// compared with themselves.
func Open(ctx context.Context, ours Set) (Worlds, error) { return open(ctx, ours, false) }

// OpenRest is Open for the scenarios of scenarios.Rest.
func OpenRest(ctx context.Context, ours Set) (Worlds, error) { return open(ctx, ours, true) }

func open(ctx context.Context, ours Set, more bool) (Worlds, error) {
	theirs, err := stage.New(ctx, stage.Options{Name: "originals", Originals: cluster.SampleControllers, Rest: more}, os.Stderr)
	if err != nil || len(ours) == 0 {
		return Worlds{Theirs: theirs, Ours: theirs}, err
	}
	originals, running := slices.Clone(cluster.SampleControllers), map[string]stage.Controller{}
	for _, one := range ours {
		if slices.Contains(originals, one.original) {
			originals = slices.DeleteFunc(originals, func(name string) bool { return name == one.original })
		} else {
			originals = append(originals, "-"+one.original)
		}
		running[one.original] = func(ctx context.Context, config *rest.Config) error { return one.run(ctx, config, workers) }
	}
	here, err := stage.New(ctx, stage.Options{Name: "ours", Originals: originals, Ours: running, Rest: more}, os.Stderr)
	if err != nil {
		return Worlds{}, errors.Join(err, theirs.Close())
	}
	return Worlds{Theirs: theirs, Ours: here}, nil
}

// Close ends both worlds.
func (w Worlds) Close() error {
	err := w.Theirs.Close()
	if w.Ours != w.Theirs {
		err = errors.Join(err, w.Ours.Close())
	}
	return err
}
