// Command inuse keeps on each ConfigMap labelled checked=yes the checksum of its data, and a copy that goes with it.
package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	labelled, err1 := labels.Parse("checked in (yes, copy)")
	mgr, err2 := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"},
		Cache:  cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Label: labelled}}},
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}}})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	isChecked := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetLabels()["checked"] == "yes" })
	checksums := ctrl.NewControllerManagedBy(mgr).Named("checksums").For(&corev1.ConfigMap{}, builder.WithPredicates(isChecked)).Owns(&corev1.ConfigMap{})
	return errors.Join(checksums.Complete(reconcile.AsReconciler(mgr.GetClient(), keeper{mgr.GetClient()})), mgr.Start(ctx))
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(ctx context.Context, object *corev1.ConfigMap) (reconcile.Result, error) {
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name + "-copy"}}
	_, err := controllerutil.CreateOrUpdate(ctx, k, owned, func() error {
		owned.Labels, owned.Data = map[string]string{"checked": "copy"}, object.Data
		return controllerutil.SetControllerReference(object, owned, k.Scheme())
	})
	_, err2 := controllerutil.CreateOrUpdate(ctx, k, object, func() error { inuse.SetChecksum(object); return nil })
	return reconcile.Result{}, errors.Join(err, err2)
}
