// Command hot-loop has a controller that writes the status of a Deployment each time that it
// reconciles it. Each write is a change, so it reconciles the Deployment again.
package main

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/examples/internal/run"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func main() { run.Main("hot-loop", hotLoop) }

func hotLoop(ctx context.Context, p run.Program) error {
	mgr, err := p.Manager(ctx, "hot-loop", ctrl.Options{})
	if err != nil {
		return err
	}
	c := mgr.GetClient()
	err = errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("hot-loop").For(&appsv1.Deployment{}).
			Complete(reconcile.AsReconciler(c, reconciler{c, p.Mended})),
		p.Make(ctx, p.Deployment("web")))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

type reconciler struct {
	client.Client
	mended bool
}

func (r reconciler) Reconcile(
	ctx context.Context, deployment *appsv1.Deployment,
) (reconcile.Result, error) {
	status := &deployment.Status
	// region mended
	if r.mended && status.ObservedGeneration == deployment.Generation {
		return reconcile.Result{}, nil // nothing has changed since the last write
	}
	// endregion mended
	status.ObservedGeneration = deployment.Generation
	status.Conditions = []appsv1.DeploymentCondition{{
		Type: "Reconciled", Status: corev1.ConditionTrue, Reason: "Reconciled",
		Message: time.Now().Format(time.RFC3339Nano), // each one differs
	}}
	return reconcile.Result{}, r.Status().Update(ctx, deployment)
}
