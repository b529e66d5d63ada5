// Package controllers has what all controllers below it share: each takes the place of one of Kubernetes' own.
//
//	config -> Run -> manager -> Add -> Builder, with a Probe -> the controller's sources and reconciler
//
// Three things are the same for all. The reconciler reads what it has written ([Client]). A program that has no manager
// runs the controller alone ([Run]). And before the first reconcile, a probe finds out whether somebody else does the
// same work ([Probe]): two controllers that make Pods for one ReplicaSet make twice as many.
//
// Neighbours: below it is the manager. Above it are the controllers, such as controllers/replicaset.
package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/predicate"
)

// Options are those of one controller. The zero value serves.
type Options struct {
	// Controller is as for any controller. What it does not say, the manager's settings do. Without these, five objects
	// are reconciled at a time, as Kubernetes' own controllers do. EnableWarmup needs Probe.Skip: a replica that waits
	// for the lead must not probe, because the leader would answer.
	Controller controller.Options
	// Probe is about how to find out whether somebody else does the same work.
	Probe ProbeOptions
}

// workers is how many objects a controller reconciles at a time if nobody says anything else.
const workers = 5

// Builder begins the construction of a controller: with the options, and with a probe that has to end well before the
// first reconcile.
func (o Options) Builder(mgr manager.Manager, probe Probe) (*builder.Builder, error) {
	settings := o.Controller
	if settings.MaxConcurrentReconciles == 0 && mgr.GetControllerOptions().MaxConcurrentReconciles == 0 {
		settings.MaxConcurrentReconciles = workers
	}
	if o.Probe.Skip {
		return builder.ControllerManagedBy(mgr).WithOptions(settings), nil
	}
	if settings.EnableWarmup != nil && *settings.EnableWarmup {
		return nil, errors.New("EnableWarmup starts a controller's sources before this replica leads, and the probe is one of them: set Probe.Skip, or leave EnableWarmup out")
	}
	settings.EnableWarmup = new(false)
	source, err := newProbeSource(mgr, probe, o.Probe)
	if err != nil {
		return nil, err
	}
	return builder.ControllerManagedBy(mgr).WithOptions(settings).WatchesRawSource(source).
		WithEventFilter(predicate.NewPredicateFuncs(source.prober.isOther)), nil
}

// Client makes a client for one controller. Its reads come from the manager's cache, and wait for its own writes, and
// not for those of the manager's other controllers. The WriteWaiter is the cache, for a controller that has other things to
// wait for.
//
// Errors: a manager with a cache that cannot wait.
func Client(mgr manager.Manager) (client.Client, client.WriteWaiter, error) {
	waiter, ok := mgr.GetCache().(client.WriteWaiter)
	if !ok {
		return nil, nil, fmt.Errorf("a controller that reads what it has written needs a cache that is a client.WriteWaiter, and not a %T", mgr.GetCache())
	}
	c, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), Log: mgr.GetLogger(),
		Cache: &client.CacheOptions{Reader: mgr.GetCache(), EnableReadYourWritesConsistency: new(true)},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making a client that reads its writes: %w", err)
	}
	return c, waiter, nil
}

// Run runs one controller, and nothing else, until the context ends. It is for a program that has no manager.
// add is the controller's function Add.
//
// Errors: somebody else does the same work, and others that keep a manager from starting.
func Run(ctx context.Context, config *rest.Config, options Options, add func(manager.Manager, Options) error) error {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1 // the API server knows better than a client what it can bear
	}
	mgr, err := manager.New(config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if err := add(mgr, options); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
