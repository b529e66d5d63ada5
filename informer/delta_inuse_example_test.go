// Code generated from chapters/04-informer/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package informer_test

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
)

// The job of the course with a DeltaQueue between the reader and the writer: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_deltaQueue() {
	inusetest.Show(keepWithDeltaQueue)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithDeltaQueue(ctx context.Context, config *rest.Config) error {
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
