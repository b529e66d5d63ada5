// Command inuse keeps the checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
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
