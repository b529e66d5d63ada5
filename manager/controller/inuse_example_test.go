// Code generated from chapters/08-controller/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package controller_test

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// The job of the course with a Controller, and a source of requests: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_controller() {
	inusetest.Show(keepWithController)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

type configMap = corev1.ConfigMap

func keepWithController(ctx context.Context, config *rest.Config) error {
	from, err := informer.NewListWatch[*configMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	client, configMaps := kubernetes.NewForConfigOrDie(config), informer.NewInformer(from, informer.InformerOptions[*configMap]{})
	reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		object, _ := configMaps.Store().Get(request.NamespacedName) // nil if it is gone, and then there is nothing to do
		return reconcile.Result{}, inuse.WriteChecksum(ctx, client, object)
	})
	checksums, err := controller.NewUnmanaged("checksums", controller.Options{Reconciler: reconciler})
	if err == nil {
		err = errors.Join(checksums.Watch(source{configMaps}), checksums.Start(ctx))
	}
	return err
}

type source struct{ *informer.Informer[*configMap] }

func (s source) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	add := func(object *configMap) { queue.Add(reconcile.Request{NamespacedName: informer.KeyOf(object)}) }
	_, err := s.AddHandler(informer.HandlerFuncs[*configMap]{
		Add: func(object *configMap, _ bool) { add(object) }, Update: func(_, object *configMap) { add(object) }}, informer.HandlerOptions{})
	go func() { _ = s.Run(ctx) }()
	return err
}
