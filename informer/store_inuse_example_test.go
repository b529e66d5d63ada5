// Code generated from chapters/02-store/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package informer_test

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
	"github.com/loopwright/loopwright/internal/demo/inusetest"
)

// The job of the course with a Store, whose index knows the work that is left: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_store() {
	inusetest.Show(keepWithStore)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithStore(ctx context.Context, config *rest.Config) error {
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
