// Package endpoints keeps, for each Service with a selector, the list of addresses behind it.
//
// A Service and the Pods that it selects go in; an Endpoints object of the Service's name comes out. What it says is
// decided by functions without a clock or a client, each in a file of its own: which ports a Pod serves
// (endpoints_ports.go), with which address (endpoints_address.go), how all of it is written down (endpoints_pack.go),
// what is left out if it is too much (endpoints_capacity.go), since when it is true (endpoints_trigger.go), and whether
// there is anything to write (endpoints_object.go). The reconciler looks and writes (endpoints_reconcile.go), and
// endpoints_watch.go says when.
//
// Neighbours: below it are controllers/internal/podstate, which says what a Pod's status means, and the manager, which
// runs it all. Kubernetes' own controllers do the same for EndpointSlices, which have replaced Endpoints wherever
// traffic is routed.
package endpoints

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// controllerName is what events and labels say; it is the name of Kubernetes' own controller.
const controllerName = "endpoint-controller"

// Options may be left empty.
type Options struct {
	// BatchPeriod is how long a change of a Pod waits for others, so that a rollout of many Pods leads to fewer writes.
	// It is what kube-controller-manager calls --endpoint-updates-batch-period. With 0, nothing waits; what changes
	// while a write is under way leads to one more.
	BatchPeriod time.Duration
}

// Add adds the controller to a manager. See Options.Add.
func Add(mgr manager.Manager, options controller.Options) error { return Options{}.Add(mgr, options) }

// Add adds the controller to a manager. What the options do not say, the manager's settings do; without these, five
// Services are reconciled at a time.
//
// Guarantees: when nothing changes any more, the Endpoints of each Service with a selector are right, and nothing is
// written. That holds whatever happens to them: who changes or deletes them makes work for the controller, and nothing
// else. Endpoints of Services without a selector are not touched, except that they go with their Service.
//
// Caveats: the cache needs all Pods, Services and Endpoints. It gets an index for Services, so Add may be called once
// for a manager.
func (o Options) Add(mgr manager.Manager, options controller.Options) error {
	if options.MaxConcurrentReconciles == 0 && mgr.GetControllerOptions().MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = 5
	}
	// A client of its own waits for its own writes, and not for those of the manager's other controllers.
	config := rest.CopyConfig(mgr.GetConfig())
	config.WarningHandlerWithContext = rest.NoWarnings{} // the API server adds to each answer that Endpoints are deprecated
	c, err := client.New(config, client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), Log: mgr.GetLogger(),
		Cache: &client.CacheOptions{Reader: mgr.GetCache(), EnableReadYourWritesConsistency: new(true)},
	})
	if err != nil {
		return fmt.Errorf("making the client of the Endpoints controller: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Service{}, selectorIndex, selectorIndexValues); err != nil {
		return fmt.Errorf("finding the Services that select a Pod: %w", err)
	}
	r := &reconciler{client: c, live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(controllerName)}
	return builder.ControllerManagedBy(mgr).Named("endpoints").WithOptions(options).
		For(&corev1.Service{}, builder.WithPredicates(serviceChanges)).
		Watches(&corev1.Pod{}, podEvents{mgr.GetCache(), o.BatchPeriod}.handler()).
		Watches(&corev1.Endpoints{}, endpointsEvents{mgr.GetCache(), &r.memory}.handler()).
		Complete(r)
}

// Run runs the controller, and nothing else, until the context ends. It is for a program that has no manager.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	config = rest.CopyConfig(config)
	if config.QPS == 0 {
		config.QPS = -1 // the API server knows better than a client what it can bear
	}
	mgr, err := manager.New(config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if err := Add(mgr, controller.Options{MaxConcurrentReconciles: workers}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
