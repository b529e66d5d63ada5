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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
const controllerName = "deployment-controller"

// kind is what owner references to a Deployment say.
var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// probe is a Deployment that wants nothing done, because it is paused, and gets a status all the same.
var probe = controllers.Probe{
	Original: controllerName,
	Object: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Paused:   true,
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"loopwright.dev/probe": controllerName}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"loopwright.dev/probe": controllerName}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
		},
	}},
	IsAnswered: func(o client.Object) bool { return o.(*appsv1.Deployment).Status.ObservedGeneration > 0 },
}

// Add adds the controller to a manager.
//
// Guarantees: as long as nobody else reconciles Deployments, the ReplicaSets of one never ask for more Pods together
// than are desired and the surge allows, and Pods that serve are taken away only while enough others serve, as far as the
// statuses of the ReplicaSets tell. What the controller has written itself, it knows, and a write that was decided
// on from an older state of a ReplicaSet is refused. If somebody else reconciles Deployments when it starts, it does
// not, and the manager's Start returns an error that says what to do.
//
// Caveats: nothing happens without a ReplicaSet controller. The cache gets an index of ReplicaSets, so Add may be
// called once for a manager. With the strategy Recreate, and a ReplicaSet controller that does not report terminating
// Pods, the controller lists Pods, for which it needs the right.
func Add(mgr manager.Manager, options controllers.Options) error {
	c, waiter, err := controllers.Client(mgr)
	if err != nil {
		return fmt.Errorf("the Deployment controller: %w", err)
	}
	index := claim.Index{Kind: kind.GroupKind()}
	if err := index.Add(context.Background(), mgr.GetFieldIndexer(), &appsv1.ReplicaSet{}); err != nil {
		return fmt.Errorf("finding the ReplicaSets of a Deployment: %w", err)
	}
	r := &reconciler{client: c, live: mgr.GetAPIReader(), waiter: waiter, index: index, events: mgr.GetEventRecorder(controllerName)}
	wanting := claim.Wanting(mgr.GetCache(), &appsv1.DeploymentList{}, func(d client.Object) *metav1.LabelSelector {
		return d.(*appsv1.Deployment).Spec.Selector
	})
	build, err := options.Builder(mgr, probe)
	if err != nil {
		return fmt.Errorf("the Deployment controller: %w", err)
	}
	return build.
		For(&appsv1.Deployment{}).
		Owns(&appsv1.ReplicaSet{}).
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(wanting), builder.WithPredicates(claim.BecomesOrphan)).
		Complete(r)
}

// Run runs the controller, and nothing else, until the context ends. A program that wants more than a number of workers
// calls controllers.Run with Add.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config, controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}
