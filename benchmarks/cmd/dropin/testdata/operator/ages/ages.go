// Package ages labels ConfigMaps that are old.
package ages

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

type Reconciler struct {
	client.Client
	Now func() time.Time
}

func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var config corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if age := r.Now().Sub(config.CreationTimestamp.Time); age < time.Hour {
		return ctrl.Result{RequeueAfter: time.Hour - age}, nil
	}
	log.FromContext(ctx).Info("old")
	before := config.DeepCopy()
	config.Labels = map[string]string{"age": "old"}
	return ctrl.Result{}, r.Patch(ctx, &config, client.MergeFrom(before))
}

func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(r)
}
