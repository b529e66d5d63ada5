// Package deployment replaces the Pods of a Deployment when its template changes, a few at a time.
//
// The controller reads a Deployment and its ReplicaSets. It creates, scales, adopts, releases and
// deletes ReplicaSets, and writes the progress into the Deployment's status. It never touches a
// Pod: the ReplicaSet controller does that. Functions without a clock or a client decide what to
// do: the sizes during a rollout (rolling.go), proportional scaling (scale.go), names
// (replicasets.go), revisions (revision.go), conditions and status (status.go). The reconciler
// reads and reports (deployment.go), and acts (sync.go, write.go).
//
// Neighbours: below it are controllers/internal/claim, which decides which ReplicaSets belong to a
// Deployment, and the manager. Beside it is the ReplicaSet controller, which creates and deletes
// the Pods.
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

// controllerName is the name in events. Kubernetes' own controller has the same.
const controllerName = "deployment-controller"

// kind is the kind in owner references to a Deployment.
var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Probe is a Deployment that is paused: a controller creates nothing for it, but writes its status.
var Probe = controllers.Probe{
	Original: controllerName,
	Object: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Paused:   true,
		Replicas: new(int32(0)),
		Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"loopwright.dev/probe": controllerName},
		},
		Template: controllers.ProbeTemplate(map[string]string{"loopwright.dev/probe": controllerName}),
	}},
	IsAnswered: func(o client.Object) bool {
		return o.(*appsv1.Deployment).Status.ObservedGeneration > 0
	},
}

// Add adds the controller to a manager.
//
// Guarantees: as long as no other controller reconciles Deployments, this one never makes the
// ReplicaSets of a Deployment together want more Pods than the desired number plus the surge. If
// they do because a user has scaled one, or because one was adopted, it scales none up. The
// controller removes available Pods only while enough others are available, according to the
// statuses of the ReplicaSets. It reads its own writes, and the API server refuses a write that was
// decided on an outdated ReplicaSet. If another controller already reconciles Deployments, this one
// doesn't start: the manager's Start returns an error that says what to do.
//
// Caveats: a rollout needs a ReplicaSet controller. Add registers an index of ReplicaSets in the
// cache, so call it once for a manager. With the strategy Recreate, and a ReplicaSet controller
// that doesn't report terminating Pods, the controller lists Pods, and needs permission to do so.
func Add(mgr manager.Manager, options controllers.Options) error {
	c, waiter, err := controllers.Client(mgr)
	if err != nil {
		return fmt.Errorf("the Deployment controller: %w", err)
	}
	index := claim.Index{Kind: kind.GroupKind()}
	if err := index.Add(
		context.Background(), mgr.GetFieldIndexer(), &appsv1.ReplicaSet{},
	); err != nil {
		return fmt.Errorf("finding the ReplicaSets of a Deployment: %w", err)
	}
	r := &reconciler{
		client: c, live: mgr.GetAPIReader(), waiter: waiter, index: index,
		events: mgr.GetEventRecorder(controllerName),
	}
	wanting := claim.Wanting(mgr.GetCache(), &appsv1.DeploymentList{},
		func(d client.Object) *metav1.LabelSelector {
			return d.(*appsv1.Deployment).Spec.Selector
		})
	build, err := options.Builder(mgr, Probe)
	if err != nil {
		return fmt.Errorf("the Deployment controller: %w", err)
	}
	return build.
		For(&appsv1.Deployment{}).
		Owns(&appsv1.ReplicaSet{}).
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(wanting),
			builder.WithPredicates(claim.BecomesOrphan)).
		Complete(r)
}

// Run runs only this controller, until the context ends. To set more than the number of workers,
// call controllers.Run with Add.
func Run(ctx context.Context, config *rest.Config, workers int) error {
	return controllers.Run(ctx, config,
		controllers.Options{Controller: controller.Options{MaxConcurrentReconciles: workers}}, Add)
}

// reconciler reconciles Deployments.
type reconciler struct {
	client      client.Client      // reads from the cache, its own writes included
	live        client.Reader      // reads from the API server
	waiter      client.WriteWaiter // the cache
	events      events.EventRecorder
	index       claim.Index
	unconfirmed unconfirmedWrites
	// dropsTerminating is true if the API server left terminatingReplicas out of its last answer.
	dropsTerminating atomic.Bool
}

// These errors end a reconcile early. None of them is a failure.
var (
	// errStale: the cache was out of date, so the Deployment is reconciled again at once.
	errStale = errors.New("what was read is out of date")
	// errNamespaceEnds: the API server creates nothing in a namespace that is being deleted.
	errNamespaceEnds = errors.New("the namespace is being deleted")
	// errGone: the Deployment has been deleted; the watch will report it.
	errGone = errors.New("the Deployment is gone")
)

// Reconcile reads a Deployment and its ReplicaSets, acts, and writes the status if it has changed.
func (r *reconciler) Reconcile(
	ctx context.Context, request reconcile.Request,
) (reconcile.Result, error) {
	f, err := r.getRollout(ctx, request.NamespacedName)
	if f == nil || err != nil {
		return reconcile.Result{}, err
	}
	t := &deploymentSync{
		reconciler: r, rollout: f, conditions: f.d.Status.Conditions, now: time.Now(),
	}
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

// getRollout reads a Deployment and its ReplicaSets. It returns nil if there's no such Deployment.
//
// It reads the ReplicaSets first: this read may wait for the controller's last writes, and the
// Deployment must not be older than they are. So it finds the ReplicaSets by the Deployment's name,
// and the claim compares UIDs.
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
	owned, err := claim.Claim(ctx, r.client, owner, append(sets, orphans...),
		claim.StillWants(d, r.live))
	if err != nil {
		return nil, err
	}
	return newRollout(d, owned), nil
}

func (r *reconciler) list(
	ctx context.Context, namespace string, which client.MatchingFields,
) ([]*appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	if err := r.client.List(
		ctx, &list, client.InNamespace(namespace), which, client.UnsafeDisableDeepCopy,
	); err != nil {
		return nil, err
	}
	sets := make([]*appsv1.ReplicaSet, len(list.Items))
	for i := range list.Items {
		sets[i] = &list.Items[i]
	}
	return sets, nil
}

// selectsAll reports whether a Deployment's selector is empty and so matches every ReplicaSet of
// its namespace. The API server has refused such a selector since apps/v1, but an older one may be
// stored.
func selectsAll(d *appsv1.Deployment) bool {
	selector := d.Spec.Selector
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

// refuse sends a warning about a Deployment that selects all, and notes that it has observed this
// generation. It does nothing else.
func (s *deploymentSync) refuse(ctx context.Context) error {
	s.events.Eventf(s.d, nil, corev1.EventTypeWarning, "SelectingAll", "Select",
		"This deployment is selecting all pods. A non-empty selector is required.")
	status := *s.d.Status.DeepCopy()
	status.ObservedGeneration = s.d.Generation
	return s.report(ctx, status)
}

// report writes the status and the revision, unless the Deployment has them already.
func (s *deploymentSync) report(ctx context.Context, status appsv1.DeploymentStatus) error {
	if isWritten(s.d, status, s.revision, s.dropsTerminating.Load()) {
		return nil
	}
	written := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.d.Namespace, Name: s.d.Name},
	}
	err := s.client.Status().Patch(ctx, written, statusPatch(s.d, status, s.revision))
	if client.IsAbsent(err, client.ObjectKeyFromObject(s.d)) {
		return nil
	}
	if err != nil {
		return err
	}
	if status.TerminatingReplicas != nil {
		s.dropsTerminating.Store(written.Status.TerminatingReplicas == nil)
	}
	return nil
}
