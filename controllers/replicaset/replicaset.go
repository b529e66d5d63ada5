// Package replicaset keeps the number of Pods that each ReplicaSet asks for.
//
// A ReplicaSet and its Pods go in; Pods are created, deleted, adopted and released, and the ReplicaSet's status says
// how many there are. What to do is decided by functions without a clock or a client, each in a file of its own:
// which Pods to delete (replicaset_rank.go), how many at a time (replicaset_scale.go), the status
// (replicaset_status.go). The writes whose outcome is not known are kept in replicaset_doubt.go. The reconciler looks,
// acts, looks again and reports (replicaset_reconcile.go).
//
// Neighbours: below it are controllers/internal/claim, which decides whose a Pod is, podstate, which decides whether it
// counts, and the manager, which runs it all. Beside it will be the Deployment controller, which makes ReplicaSets.
package replicaset

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
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
const controllerName = "replicaset-controller"

// kind is what owner references to a ReplicaSet say.
var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// Add adds the controller to a manager. What the options do not say, the manager's settings do; without these,
// five ReplicaSets are reconciled at a time.
//
// Guarantees: as long as nobody else reconciles ReplicaSets, no Pod is created that is too many, and none is deleted
// that is needed, because the cache is old or because an answer was lost: what the controller has written itself, it
// knows. What others write, it knows when the cache does.
//
// Caveats: the cache needs all Pods of the namespaces in which it has ReplicaSets. It gets an index for them, so
// Add may be called once for a manager. A process that takes over must not start before what its predecessor has sent
// has arrived; a leader's lease sees to that.
func Add(mgr manager.Manager, options controller.Options) error {
	return add(mgr, options, rand.String)
}

// add is Add with a source of random suffixes for names.
func add(mgr manager.Manager, options controller.Options, suffix func(length int) string) error {
	if options.MaxConcurrentReconciles == 0 && mgr.GetControllerOptions().MaxConcurrentReconciles == 0 {
		options.MaxConcurrentReconciles = 5
	}
	waiter, ok := mgr.GetCache().(client.WriteWaiter)
	if !ok {
		return fmt.Errorf("the ReplicaSet controller reads what it has written: it needs a cache that is a client.WriteWaiter, and not a %T", mgr.GetCache())
	}
	// A client of its own waits for its own writes, and not for those of the manager's other controllers.
	c, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), Log: mgr.GetLogger(),
		Cache: &client.CacheOptions{Reader: mgr.GetCache(), EnableReadYourWritesConsistency: new(true)},
	})
	if err != nil {
		return fmt.Errorf("making the client of the ReplicaSet controller: %w", err)
	}
	index := claim.Index{Kind: kind.GroupKind()}
	if err := index.Add(context.Background(), mgr.GetFieldIndexer(), &corev1.Pod{}); err != nil {
		return fmt.Errorf("finding the Pods of a ReplicaSet: %w", err)
	}
	r := &reconciler{
		client: c, live: mgr.GetAPIReader(), waiter: waiter, index: index, suffix: suffix,
		events: mgr.GetEventRecorder(controllerName),
	}
	return builder.ControllerManagedBy(mgr).WithOptions(options).
		For(&appsv1.ReplicaSet{}).
		Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(wanting(mgr.GetCache())), builder.WithPredicates(becomesOrphan)).
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
