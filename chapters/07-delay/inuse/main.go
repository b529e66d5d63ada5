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
	"github.com/loopwright/loopwright/workqueue"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	client := kubernetes.NewForConfigOrDie(config)
	configMaps := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{
		Reflector: informer.ReflectorOptions{WatchErrorHandler: func(err error) { log.Print(err) }}})
	queue := workqueue.NewDelaying(workqueue.Options[informer.Key]{})
	add := func(object *corev1.ConfigMap, _ bool) { queue.Add(informer.KeyOf(object)) }
	update := func(_, object *corev1.ConfigMap) { queue.Add(informer.KeyOf(object)) }
	handler := informer.HandlerFuncs[*corev1.ConfigMap]{Add: add, Update: update}
	if _, err := configMaps.AddHandler(handler, informer.HandlerOptions{}); err != nil {
		return err
	}
	go func() { err = configMaps.Run(ctx); queue.ShutDown() }()
	for key, shutdown := queue.Get(); !shutdown; key, shutdown = queue.Get() {
		if object, found := configMaps.Store().Get(key); found && !inuse.HasChecksum(object) {
			queue.AddAfter(key, time.Second) // if the write succeeds, the second look finds nothing to do
			if err := inuse.WriteChecksum(ctx, client, object); err != nil {
				log.Print(err)
			}
		}
		queue.Done(key)
	}
	return err
}
