// Command inuse keeps a checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"errors"
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
	for cursor := (informer.Cursor{}); err == nil && ctx.Err() == nil; time.Sleep(time.Second) {
		events, broken := from.Watch(ctx, cursor.WatchOptions()) // the first time it begins with all there is
		for broken == nil {
			event, failure := events.Next()
			broken = errors.Join(failure, event.Err())
			var news bool
			if cursor, news = cursor.Saw(event.Type, event.ResourceVersion); news && event.Type != "DELETED" {
				object := event.Object
				if sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, object.Data))); object.Annotations["checksum"] != sum {
					metav1.SetMetaDataAnnotation(&object.ObjectMeta, "checksum", sum)
					_, _ = configMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{})
				}
			}
		}
		cursor = cursor.Failed(broken)
	}
	return err
}
