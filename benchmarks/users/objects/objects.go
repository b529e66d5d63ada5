// Package objects has a reconciler that gets the object instead of its name.
package objects

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Labeller puts a label on each ConfigMap.
type Labeller struct{ client.Client }

var _ reconcile.ObjectReconciler[*corev1.ConfigMap] = &Labeller{}

func (l *Labeller) Reconcile(ctx context.Context, config *corev1.ConfigMap) (reconcile.Result, error) {
	if config.Labels["seen"] != "" {
		return reconcile.Result{}, nil
	}
	base := config.DeepCopy()
	config.Labels = map[string]string{"seen": "yes"}
	return reconcile.Result{}, l.Patch(ctx, config, client.MergeFrom(base))
}

// New makes the controller.
func New(c client.Client) (controller.Controller, error) {
	return controller.NewUnmanaged("labeller", controller.Options{
		Reconciler: reconcile.AsReconciler(c, &Labeller{Client: c}),
	})
}

// Explicit names the type argument.
func Explicit(c client.Client) reconcile.Reconciler {
	return reconcile.AsReconciler[*corev1.ConfigMap](c, &Labeller{Client: c})
}
