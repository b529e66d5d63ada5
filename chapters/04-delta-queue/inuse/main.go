// Command inuse keeps a checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"log"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/informer"
)

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err == nil {
		err = keep(context.Background(), config)
	}
	log.Fatal(err)
}

func keep(ctx context.Context, config *rest.Config) error {
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"), informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	store := informer.NewStore[*corev1.ConfigMap](informer.StoreOptions{})
	queue := informer.NewDeltaQueue(store, informer.DeltaQueueOptions{})
	go func() { _ = informer.NewReflector(from, queue, informer.ReflectorOptions{}).Run(ctx) }() // it never gives up
	for batch := (informer.Batch[*corev1.ConfigMap]{}); ctx.Err() == nil; time.Sleep(time.Second) {
		queue.Pop(&batch) // empties it, if there is nothing new
		for _, delta := range batch.Deltas {
			if object, sum := delta.Object.DeepCopy(), fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, delta.Object.Data))); delta.Type == informer.DeltaDeleted {
				store.Delete(delta.Key)
			} else if store.Put(delta.Object); object.Annotations["checksum"] != sum {
				metav1.SetMetaDataAnnotation(&object.ObjectMeta, "checksum", sum)
				_, _ = configMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{})
			}
		}
	}
	return nil
}
