// Code generated from chapters/11-cache/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package cache_test

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// The job of the course with a Cache, and a Client that reads from it: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_cache() {
	inusetest.Show(keepWithCache)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithCache(ctx context.Context, config *rest.Config) error {
	checked := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"checked": "yes"})}
	objects, err := cache.New(config, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: checked}})
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Cache: &client.CacheOptions{Reader: objects}})
	if err != nil {
		return err
	}
	checksums, err := controller.NewUnmanaged("checksums", controller.Options{Reconciler: reconcile.AsReconciler(c, keeper{c})})
	if err != nil {
		return err
	}
	go func() { _ = objects.Start(ctx) }()
	events := source.Kind[client.Object](objects, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{})
	return errors.Join(checksums.Watch(events), checksums.Start(ctx))
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(ctx context.Context, object *corev1.ConfigMap) (reconcile.Result, error) {
	if inuse.HasChecksum(object) {
		return reconcile.Result{}, nil
	}
	inuse.SetChecksum(object)
	return reconcile.Result{}, k.Update(ctx, object)
}
