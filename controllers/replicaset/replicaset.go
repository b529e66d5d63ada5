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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
)

// controllerName is what events say; it is the name of Kubernetes' own controller.
const controllerName = "replicaset-controller"

// kind is what owner references to a ReplicaSet say.
var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// probe is a ReplicaSet that wants no Pods, and gets a status all the same.
var probe = controllers.Probe{
	Original: controllerName,
	Object: &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"loopwright.dev/probe": controllerName}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"loopwright.dev/probe": controllerName}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
		},
	}},
	IsAnswered: func(o client.Object) bool { return o.(*appsv1.ReplicaSet).Status.ObservedGeneration > 0 },
}

// Add adds the controller to a manager.
//
// Guarantees: as long as nobody else reconciles ReplicaSets, no Pod is created that is too many, and none is deleted
// that is needed, because the cache is old or because an answer was lost: what the controller has written itself, it
// knows. What others write, it knows when the cache does. If somebody else reconciles ReplicaSets when it starts, it
// does not, and the manager's Start returns an error that says what to do.
//
// Caveats: the cache needs all Pods of the namespaces in which it has ReplicaSets. It gets an index for them, so
// Add may be called once for a manager. A process that takes over must not start before what its predecessor has sent
// has arrived; a leader's lease sees to that.
func Add(mgr manager.Manager, options controllers.Options) error {
	return add(mgr, options, rand.String, defaultBurst)
}

// add is Add with a source of random suffixes for names, and a limit for what one look does.
func add(mgr manager.Manager, options controllers.Options, suffix func(length int) string, burst int) error {
	c, waiter, err := controllers.Client(mgr)
	if err != nil {
		return fmt.Errorf("the ReplicaSet controller: %w", err)
	}
	index := claim.Index{Kind: kind.GroupKind()}
	if err := index.Add(context.Background(), mgr.GetFieldIndexer(), &corev1.Pod{}); err != nil {
		return fmt.Errorf("finding the Pods of a ReplicaSet: %w", err)
	}
	r := &reconciler{
		client: c, cached: mgr.GetCache(), live: mgr.GetAPIReader(), waiter: waiter, index: index, suffix: suffix, burst: burst,
		events: mgr.GetEventRecorder(controllerName),
	}
	wanting := claim.Wanting(mgr.GetCache(), &appsv1.ReplicaSetList{}, func(set client.Object) *metav1.LabelSelector {
		return set.(*appsv1.ReplicaSet).Spec.Selector
	})
	build, err := options.Builder(mgr, probe)
	if err != nil {
		return fmt.Errorf("the ReplicaSet controller: %w", err)
	}
	return build.
		For(&appsv1.ReplicaSet{}).
		Owns(&corev1.Pod{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(wanting), builder.WithPredicates(claim.BecomesOrphan)).
		Complete(r)
}

// Run runs the controller, and nothing else, until the context ends. A program that wants more than a number of workers
// calls controllers.Run with Add.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config, controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}
