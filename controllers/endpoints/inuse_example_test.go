// Code generated from chapters/27-endpoints/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package endpoints_test

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/endpoints"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// The controller in a program that may run in several replicas, of which one works.
func Example_endpoints() { inuse.Main(keepWithEndpoints) }

func keepWithEndpoints(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server has limits of its own
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		LeaderElection: true, LeaderElectionID: "endpoints", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := (endpoints.Settings{BatchPeriod: 500 * time.Millisecond}).Add(mgr, controllers.Options{}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
