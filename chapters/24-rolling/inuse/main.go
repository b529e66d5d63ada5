// Command inuse runs the controllers of Deployments and of ReplicaSets. It may run in several replicas, of which one
// works.
package main

import (
	"context"
	"errors"

	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/deployment"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server has limits of its own
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "deployments", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := errors.Join(replicaset.Add(mgr, controllers.Options{}), deployment.Add(mgr, controllers.Options{})); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
