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
	"k8s.io/apimachinery/pkg/types"
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
	store := informer.NewStore[*corev1.ConfigMap](informer.StoreOptions{})
	sum := func(object *corev1.ConfigMap) string {
		return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, object.Data)))
	}
	isRight := func(values []string, object *corev1.ConfigMap) []string {
		return append(values, fmt.Sprint(object.Annotations["checksum"] == sum(object)))
	}
	right, _ := store.AddIndex("right", isRight)
	for ; err == nil && ctx.Err() == nil; time.Sleep(time.Second) {
		store.Replace(nil) // a watch from nothing begins with all there is
		for events, broken := from.Watch(ctx, metav1.ListOptions{}); broken == nil; {
			event, failure := events.Next()
			if broken = errors.Join(failure, event.Err()); event.Type == "DELETED" {
				store.Delete(informer.KeyOf(event.Object))
			} else if broken == nil {
				store.Put(event.Object)
			}
			for object := range right.Lookup("false") {
				patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"checksum": %q}}}`, sum(object))
				_, _ = configMaps(object.Namespace).Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			}
		}
	}
	return err
}
