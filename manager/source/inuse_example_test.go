// Code generated from chapters/09-events/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package source_test

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// The job of the course with a Source and a handler of events: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_source() {
	inusetest.Show(keepWithSource)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithSource(ctx context.Context, config *rest.Config) error {
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	client, configMaps := kubernetes.NewForConfigOrDie(config), informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{})
	reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		object, _ := configMaps.Store().Get(request.NamespacedName) // nil if it is gone, and then there is nothing to do
		return reconcile.Result{}, inuse.WriteChecksum(ctx, client, object)
	})
	checksums, err := controller.NewUnmanaged("checksums", controller.Options{Reconciler: reconciler})
	if err != nil {
		return err
	}
	go func() { _ = configMaps.Run(ctx) }()
	events := &source.Informer{Informer: cache.InformerOf(configMaps, "configmaps", 0), Handler: &handler.EnqueueRequestForObject{}}
	return errors.Join(checksums.Watch(events), checksums.Start(ctx))
}
