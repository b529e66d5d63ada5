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
// runs it all. EndpointSlices have replaced Endpoints wherever traffic is routed; a second controller writes them, which
// is optional. slices.go says how it is built.
package endpoints

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/controller"
)

// controllerName is what events and labels say; it is the name of Kubernetes' own controller.
const controllerName = "endpoint-controller"

// probe is a headless Service that selects nothing, and gets Endpoints all the same. The original's name has one letter
// more in flags than it has in labels.
var probe = controllers.Probe{
	Original: "endpoints-controller",
	Object: &corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone,
		Selector:  map[string]string{"loopwright.dev/probe": controllerName},
	}},
	Answer: &corev1.Endpoints{},
}

// Settings are those of this controller alone. The zero value serves.
type Settings struct {
	// BatchPeriod is how long a change of a Pod waits for others, so that a rollout of many Pods leads to fewer writes.
	// It is what kube-controller-manager calls --endpoint-updates-batch-period. With 0, nothing waits but what follows a
	// write of the same Endpoints: it leads to one more, after a rest of 0.2 ms for each address.
	BatchPeriod time.Duration
}

// Add adds the controller to a manager. See Settings.Add.
func Add(mgr manager.Manager, options controllers.Options) error { return Settings{}.Add(mgr, options) }

// Add adds the controller to a manager.
//
// Guarantees: when nothing changes any more, the Endpoints of each Service with a selector are right, and nothing is
// written. That holds whatever happens to them: who changes or deletes them makes work for the controller, and nothing
// else. Endpoints of Services without a selector are not touched, except that they go with their Service. If somebody
// else writes Endpoints when the controller starts, it does not, and the manager's Start returns an error that says what
// to do.
//
// Caveats: the cache needs all Pods, Services and Endpoints of its namespaces. It gets an index for Services, so Add may
// be called once for a manager.
func (s Settings) Add(mgr manager.Manager, options controllers.Options) error {
	c, _, err := controllers.Client(quiet{mgr})
	if err != nil {
		return fmt.Errorf("the Endpoints controller: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Service{}, selectorIndex, selectorIndexValues); err != nil {
		return fmt.Errorf("finding the Services that select a Pod: %w", err)
	}
	r := &reconciler{client: c, live: mgr.GetAPIReader(), events: mgr.GetEventRecorder(controllerName)}
	build, err := options.Builder(mgr, probe)
	if err != nil {
		return fmt.Errorf("the Endpoints controller: %w", err)
	}
	return build.Named("endpoints").
		For(&corev1.Service{}, builder.WithPredicates(serviceChanges)).
		Watches(&corev1.Pod{}, podEvents{mgr.GetCache(), s.BatchPeriod, selectorIndex}.handler()).
		Watches(&corev1.Endpoints{}, endpointsEvents{mgr.GetCache(), &r.memory}.handler()).
		Complete(r)
}

// quiet is a manager whose clients do not log warnings. The API server adds to each answer that Endpoints are deprecated.
type quiet struct{ manager.Manager }

func (q quiet) GetConfig() *rest.Config {
	config := rest.CopyConfig(q.Manager.GetConfig())
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// Run runs the controller, and nothing else, until the context ends. A program that wants more than a number of workers
// calls controllers.Run with Add, or with the Add of its Settings.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config, controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}
