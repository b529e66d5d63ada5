// Package deployment replaces the Pods of a Deployment when its template changes, a few at a time.
//
// A Deployment and its ReplicaSets go in; ReplicaSets are created, scaled, adopted, released and deleted, and the
// Deployment's status says how far that has come. It never touches a Pod: the ReplicaSets do that. What to do is
// decided by functions without a clock or a client, each in a file of its own: the sizes during a rollout
// (rolling.go), the shares when somebody scales (scale.go, scale.go), names and revisions
// (replicasets.go, revision.go), conditions and status (status.go, status.go). The reconciler looks
// (deployment.go), acts (sync.go, rolling.go), and reports.
//
// Neighbours: below it are controllers/internal/claim, which decides whose a ReplicaSet is, and the manager. Beside
// it is the ReplicaSet controller, without which no Pod comes or goes.
package deployment

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/internal/claim"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/recorder/events"
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

// reconciler does what the decisions say.
type reconciler struct {
	client      client.Client      // reads from the cache, and reads what it has written
	live        client.Reader      // asks the server
	waiter      client.WriteWaiter // the cache
	events      events.EventRecorder
	index       claim.Index
	unconfirmed unconfirmedWrites
	// dropsTerminating is whether the server has left terminatingReplicas out of its last answer.
	dropsTerminating atomic.Bool
}

// Why a sync stops early without a failure.
var (
	// errStale: what was read is out of date, so the next reconcile starts over.
	errStale = errors.New("what was read is out of date")
	// errNamespaceEnds: nothing can be created any more.
	errNamespaceEnds = errors.New("the namespace is being deleted")
	// errGone: the Deployment has been deleted, and an event will say so.
	errGone = errors.New("the Deployment is gone")
)

// Reconcile reads, acts, and writes the status if it differs.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	f, err := r.getRollout(ctx, request.NamespacedName)
	if f == nil || err != nil {
		return reconcile.Result{}, err
	}
	t := &deploymentSync{reconciler: r, rollout: f, conditions: f.d.Status.Conditions, now: time.Now()}
	if selectsAll(f.d) {
		return reconcile.Result{}, t.refuse(ctx)
	}
	switch err := t.run(ctx); {
	case errors.Is(err, errStale):
		return reconcile.Result{RequeueAfter: time.Nanosecond}, nil
	case errors.Is(err, errNamespaceEnds), errors.Is(err, errGone):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: t.again}, nil
}

// getRollout reads a Deployment and its ReplicaSets. It returns nil if there is no such Deployment.
//
// The ReplicaSets come first: this read may wait for the controller's last writes, and the Deployment should not be
// older than that. So the ReplicaSets are found by the Deployment's name, and the claim compares UIDs.
func (r *reconciler) getRollout(ctx context.Context, name client.ObjectKey) (*rollout, error) {
	if err := r.settle(ctx, name); err != nil {
		return nil, err
	}
	sets, err := r.list(ctx, name.Namespace, r.index.Of(name.Name))
	if err != nil {
		return nil, err
	}
	orphans, err := r.list(ctx, name.Namespace, r.index.Orphans())
	if err != nil {
		return nil, err
	}
	d := &appsv1.Deployment{}
	if err := r.client.Get(ctx, name, d, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if selectsAll(d) {
		return &rollout{d: d}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, reconcile.TerminalError(fmt.Errorf("the selector: %w", err))
	}
	owner := &claim.Owner{Object: d, Kind: kind, Selector: selector}
	owned, err := claim.Claim(ctx, r.client, owner, append(sets, orphans...), claim.StillWants(d, r.live))
	if err != nil {
		return nil, err
	}
	return newRollout(d, owned), nil
}

func (r *reconciler) list(ctx context.Context, namespace string, which client.MatchingFields) ([]*appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	if err := r.client.List(ctx, &list, client.InNamespace(namespace), which, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	sets := make([]*appsv1.ReplicaSet, len(list.Items))
	for i := range list.Items {
		sets[i] = &list.Items[i]
	}
	return sets, nil
}

// selectsAll reports whether a Deployment would take every ReplicaSet of its namespace. The API server refuses such a
// selector since apps/v1; one that is older may be stored.
func selectsAll(d *appsv1.Deployment) bool {
	selector := d.Spec.Selector
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

// refuse is what is done with a Deployment that selects all: it is seen, and nothing else.
func (s *deploymentSync) refuse(ctx context.Context) error {
	s.events.Eventf(s.d, nil, corev1.EventTypeWarning, "SelectingAll", "Select", "This deployment is selecting all pods. A non-empty selector is required.")
	status := *s.d.Status.DeepCopy()
	status.ObservedGeneration = s.d.Generation
	return s.report(ctx, status)
}

// report writes the status and the revision, unless the Deployment has them.
func (s *deploymentSync) report(ctx context.Context, status appsv1.DeploymentStatus) error {
	if isWritten(s.d, status, s.revision, s.dropsTerminating.Load()) {
		return nil
	}
	written := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.d.Namespace, Name: s.d.Name}}
	if err := s.client.Status().Patch(ctx, written, statusPatch(s.d, status, s.revision)); err != nil {
		return client.IgnoreNotFound(err)
	}
	if status.TerminatingReplicas != nil {
		s.dropsTerminating.Store(written.Status.TerminatingReplicas == nil)
	}
	return nil
}
