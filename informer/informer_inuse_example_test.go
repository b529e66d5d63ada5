// Code generated from chapters/05-shared/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package informer_test

import (
	"context"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
)

// The job of the course with an Informer, a handler and a lister: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_informer() {
	inusetest.Show(keepWithInformer)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithInformer(ctx context.Context, config *rest.Config) error {
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, resource,
		informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	client := kubernetes.NewForConfigOrDie(config)
	configMaps := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{
		Reflector: informer.ReflectorOptions{WatchErrorHandler: func(err error) { log.Print(err) }}})
	lister := configMaps.Lister(resource.GroupResource())
	check := func(told *corev1.ConfigMap, _ bool) {
		if object, err := lister.Get(told.Namespace, told.Name); err == nil { // the newest; by now, it may be gone
			if err := inuse.WriteChecksum(ctx, client, object); err != nil {
				log.Print(err)
			}
		}
	}
	update := func(_, object *corev1.ConfigMap) { check(object, false) }
	handler := informer.HandlerFuncs[*corev1.ConfigMap]{Add: check, Update: update}
	if _, err := configMaps.AddHandler(handler, informer.HandlerOptions{Coalesce: true, Resync: time.Minute}); err != nil {
		return err
	}
	return configMaps.Run(ctx)
}
