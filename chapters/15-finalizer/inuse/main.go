// Command inuse keeps on each ConfigMap labelled checked=yes the checksum of its data, and a copy that goes with it.
package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	labelled, err := labels.Parse("checked in (yes, copy)")
	objects, err2 := cache.New(config, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Label: labelled}}})
	c, err3 := client.New(config, client.Options{Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: new(true)}})
	checksums, err4 := controller.NewUnmanaged("checksums", controller.Options{Reconciler: reconcile.AsReconciler(c, keeper{c})})
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	go func() { _ = objects.Start(ctx) }()
	isChecked := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetLabels()["checked"] == "yes" })
	return errors.Join(checksums.Watch(source.Kind(objects, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{}, isChecked)),
		checksums.Watch(source.Kind(objects, &corev1.ConfigMap{}, handler.EnqueueRequestForOwner(c.Scheme(), c.RESTMapper(), &corev1.ConfigMap{}))), checksums.Start(ctx))
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
