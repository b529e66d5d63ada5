// Command inuse keeps the checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{LabelSelector: "checked=yes"})
	client := kubernetes.NewForConfigOrDie(config)
	store := informer.NewStore[*corev1.ConfigMap](informer.StoreOptions{})
	right, _ := store.AddIndex("right", func(values []string, object *corev1.ConfigMap) []string {
		return append(values, fmt.Sprint(inuse.HasChecksum(object)))
	})
	for ; err == nil && ctx.Err() == nil; time.Sleep(time.Second) {
		store.Replace(nil)
		events, broken := from.Watch(ctx, metav1.ListOptions{}) // from nothing, it begins with all there is
		for broken == nil {
			event, failure := events.Next()
			if broken = errors.Join(failure, event.Err()); event.Type == watch.Deleted {
				store.Delete(informer.KeyOf(event.Object))
			} else if broken == nil {
				store.Put(event.Object)
			}
			for object := range right.Lookup("false") {
				if err := inuse.WriteChecksum(ctx, client, object); err != nil {
					log.Print(err)
				}
			}
		}
		log.Print(broken)
	}
	return err
}
