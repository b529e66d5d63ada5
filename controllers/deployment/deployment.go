// Package deployment replaces the Pods of a Deployment when its template changes, a few at a time.
//
// A Deployment and its ReplicaSets go in; ReplicaSets are created, scaled, adopted, released and deleted, and the
// Deployment's status says how far that has come. It never touches a Pod: the ReplicaSets do that. What to do is
// decided by functions without a clock or a client, each in a file of its own: the sizes during a rollout
// (deployment_rollout.go), the shares when somebody scales (deployment_proportion.go, deployment_scale.go), names and revisions
// (deployment_hash.go, deployment_revision.go), conditions and status (deployment_conditions.go, deployment_status.go). The reconciler looks
// (deployment_reconcile.go), acts (deployment_turn.go, deployment_recreate.go), and reports.
//
// Neighbours: below it are controllers/internal/claim, which decides whose a ReplicaSet is, and the manager. Beside
// it is the ReplicaSet controller, without which no Pod comes or goes.
package deployment

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics/server"
)

// controllerName is what events say; it is the name of Kubernetes' own controller.
const controllerName = "deployment-controller"

// kind is what owner references to a Deployment say.
var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Add adds the controller to a manager. What the options do not say, the manager's settings do; without these,
// five Deployments are reconciled at a time.
//
// Guarantees: as long as nobody else reconciles Deployments, its ReplicaSets together never ask for more Pods than
// are desired and the surge allows, and Pods that serve are taken away only while enough others serve, as far as the
// statuses of the ReplicaSets tell. What the controller has written itself, it knows, and a write that was decided
// from an older state of a ReplicaSet is refused.
//
// Caveats: nothing happens without a ReplicaSet controller. The cache gets an index of ReplicaSets, so Add may be
// called once for a manager.
func Add(mgr manager.Manager, options controller.Options) error {
	if options.MaxConcurrentReconciles == 0 && mgr.GetControllerOptions().MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = 5
	}
	waiter, ok := mgr.GetCache().(client.WriteWaiter)
	if !ok {
		return fmt.Errorf("the Deployment controller reads what it has written: it needs a cache that is a client.WriteWaiter, and not a %T", mgr.GetCache())
	}
	// A client of its own waits for its own writes, and not for those of the manager's other controllers.
	c, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), Log: mgr.GetLogger(),
		Cache: &client.CacheOptions{Reader: mgr.GetCache(), EnableReadYourWritesConsistency: new(true)},
	})
	if err != nil {
		return fmt.Errorf("making the client of the Deployment controller: %w", err)
	}
	index := claim.Index{Kind: kind.GroupKind()}
	if err := index.Add(context.Background(), mgr.GetFieldIndexer(), &appsv1.ReplicaSet{}); err != nil {
		return fmt.Errorf("finding the ReplicaSets of a Deployment: %w", err)
	}
	r := &reconciler{client: c, live: mgr.GetAPIReader(), waiter: waiter, index: index, events: mgr.GetEventRecorder(controllerName)}
	return builder.ControllerManagedBy(mgr).WithOptions(options).
		For(&appsv1.Deployment{}).
		Owns(&appsv1.ReplicaSet{}).
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(wanting(mgr.GetCache())), builder.WithPredicates(becomesOrphan)).
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
