// Command stuck-finalizer has a controller that forgets to remove its finalizer, so a ConfigMap
// that is deleted stays.
package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/examples/internal/run"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/reconcile"
)

const finalizer = "loopwright.dev/bucket"

func main() { run.Main("stuck-finalizer", stuckFinalizer) }

func stuckFinalizer(ctx context.Context, p run.Program) error {
	mgr, err := p.Manager(ctx, "stuck-finalizer", ctrl.Options{})
	if err != nil {
		return err
	}
	c := mgr.GetClient()
	config := &corev1.ConfigMap{ObjectMeta: p.Meta("web")}
	config.Finalizers = []string{finalizer}
	err = errors.Join(
		ctrl.NewControllerManagedBy(mgr).Named("buckets").For(&corev1.ConfigMap{}).
			Complete(reconcile.AsReconciler(c, reconciler{c, p.Mended})),
		p.Make(ctx, config),
		p.User.Delete(ctx, config))
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
	ctx context.Context, config *corev1.ConfigMap,
) (reconcile.Result, error) {
	if config.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // other programs make the bucket here
	}
	// region mended
	// Other programs delete the bucket here, and go on when it is gone.
	if r.mended && controllerutil.RemoveFinalizer(config, finalizer) {
		return reconcile.Result{}, r.Update(ctx, config)
	}
	// endregion mended
	return reconcile.Result{}, nil
}
