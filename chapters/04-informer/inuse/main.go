// Command inuse keeps the checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	client := kubernetes.NewForConfigOrDie(config)
	store := informer.NewStore[*corev1.ConfigMap](informer.StoreOptions{})
	queue := informer.NewDeltaQueue(store, informer.DeltaQueueOptions{})
	reflector := informer.NewReflector(from, queue, informer.ReflectorOptions{
		WatchErrorHandler: func(err error) { log.Print(err) }})
	ended := make(chan error)
	go func() { ended <- reflector.Run(ctx) }()
	for batch := (informer.Batch[*corev1.ConfigMap]{}); ; {
		select {
		case <-queue.Ready():
		case err := <-ended:
			return err
		}
		queue.Pop(&batch)
		for _, delta := range batch.Deltas {
			if delta.Type == informer.DeltaDeleted {
				store.Delete(delta.Key)
				continue
			}
			store.Put(delta.Object)
			if err := inuse.WriteChecksum(ctx, client, delta.Object); err != nil {
				log.Print(err)
			}
		}
	}
}
