// Command slow-reconcile has a controller that waits, in its reconcile, until a Deployment has a
// Pod that is ready. Meanwhile its only worker does nothing for the other Deployments.
package main

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/examples/internal/run"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func main() { run.Main("slow-reconcile", slowReconcile) }

func slowReconcile(ctx context.Context, p run.Program) error {
	mgr, err := p.Manager(ctx, "slow-reconcile", ctrl.Options{})
	if err != nil {
		return err
	}
	c := mgr.GetClient()
	err = errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("announcer").For(&appsv1.Deployment{}).
			Complete(reconcile.AsReconciler(c, reconciler{c, p.Mended})),
		p.Make(ctx, p.Deployment("web-1")),
		p.Make(ctx, p.Deployment("web-2")),
		p.Make(ctx, p.Deployment("web-3")))
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
	for deployment.Status.ReadyReplicas == 0 {
		// region mended
		if r.mended {
			return reconcile.Result{RequeueAfter: 5 * time.Second}, nil
		}
		// endregion mended
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return reconcile.Result{}, ctx.Err()
		}
		if err := r.Get(ctx, client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
	}
	if deployment.Annotations["announced"] == "yes" {
		return reconcile.Result{}, nil
	}
	before := deployment.DeepCopy()
	metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, "announced", "yes")
	return reconcile.Result{}, r.Patch(ctx, deployment, client.MergeFrom(before))
}
