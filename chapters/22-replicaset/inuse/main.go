// Command inuse keeps the number of Pods that each ReplicaSet asks for. It may run in several replicas, of which one
// works.
package main

import (
	"context"

	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server has limits of its own
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "replicasets", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := replicaset.Add(mgr, controllers.Options{}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
