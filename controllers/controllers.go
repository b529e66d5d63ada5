// Package controllers has what the controllers below it share. Each of them replaces one of
// Kubernetes' own controllers.
//
//	config -> Run -> manager -> Add -> Builder, with a Probe -> sources and reconciler
//
// It gives each controller three things: a client that reads its own writes ([Client]); a way to
// run it alone, in a program that has no manager ([Run]); and a probe, which finds out before the
// first reconcile whether another controller does the same work ([Probe]). Two controllers that
// create Pods for one ReplicaSet would create twice as many.
//
// Neighbours: below it is the manager. Above it are the controllers, such as
// controllers/replicaset.
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

// Options are the options of one controller. The zero value is useful.
type Options struct {
	// Controller has the options that every controller has; the manager's settings are the default.
	// If neither sets MaxConcurrentReconciles, the controller reconciles five objects at a time, as
	// Kubernetes' own controllers do. EnableWarmup needs Probe.Skip: a replica that waits to become
	// the leader must not probe, because the leader would answer.
	Controller controller.Options
	// Probe says how to find out whether another controller does the same work.
	Probe ProbeOptions
}

// workers is the default of MaxConcurrentReconciles.
const workers = 5

// Builder returns a builder with these options, and with a probe that must find no other controller
// before the first reconcile.
func (o Options) Builder(mgr manager.Manager, probe Probe) (*builder.Builder, error) {
	settings := o.Controller
	if settings.MaxConcurrentReconciles == 0 &&
		mgr.GetControllerOptions().MaxConcurrentReconciles == 0 {
		settings.MaxConcurrentReconciles = workers
	}
	if o.Probe.Skip {
		return builder.ControllerManagedBy(mgr).WithOptions(settings), nil
	}
	if settings.EnableWarmup != nil && *settings.EnableWarmup {
		return nil, errors.New("EnableWarmup starts a controller's sources before this replica " +
			"leads, and the probe is one of them: set Probe.Skip, or leave EnableWarmup out")
	}
	settings.EnableWarmup = new(false)
	source, err := newProbeSource(mgr, probe, o.Probe)
	if err != nil {
		return nil, err
	}
	return builder.ControllerManagedBy(mgr).WithOptions(settings).WatchesRawSource(source).
		WithEventFilter(predicate.NewPredicateFuncs(source.prober.isOther)), nil
}

// Client makes a client for one controller. It reads from the manager's cache, and waits for the
// writes of this controller, but not for those of the manager's other controllers. The WriteWaiter
// is the cache itself, for a controller that has to wait for more than its own writes.
//
// Errors: the manager's cache isn't a WriteWaiter.
func Client(mgr manager.Manager) (client.Client, client.WriteWaiter, error) {
	waiter, ok := mgr.GetCache().(client.WriteWaiter)
	if !ok {
		return nil, nil,
			fmt.Errorf("a controller that reads what it has written needs a cache that is a "+
				"client.WriteWaiter, and not a %T", mgr.GetCache())
	}
	c, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		Log: mgr.GetLogger(), Recorder: mgr.GetControllerOptions().Recorder,
		Cache: &client.CacheOptions{
			Reader: mgr.GetCache(), EnableReadYourWritesConsistency: new(true),
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("making a client that reads its writes: %w", err)
	}
	return c, waiter, nil
}

// Run runs only this controller, until the context ends. It's for a program that has no manager.
// add is the controller's function Add.
//
// Errors: another controller does the same work; and all errors of a manager's start.
func Run(
	ctx context.Context, config *rest.Config, options Options,
	add func(manager.Manager, Options) error,
) error {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1 // no limit: the API server limits its clients itself
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
