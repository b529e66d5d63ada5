// Code generated from chapters/01-list-watch/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package informer_test

import (
	"context"
	"errors"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
)

// The job of the course with a ListWatch and a Cursor: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_listWatch() {
	inusetest.Show(keepWithListWatch)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithListWatch(ctx context.Context, config *rest.Config) error {
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	client := kubernetes.NewForConfigOrDie(config)
	for cursor := (informer.Cursor{}); ctx.Err() == nil; time.Sleep(time.Second) {
		events, err := from.Watch(ctx, cursor.WatchOptions()) // the first time, it begins with all there is
		for err == nil {
			event, failure := events.Next()
			if err = errors.Join(failure, event.Err()); err != nil {
				_ = events.Close()
			}
			var news bool
			if cursor, news = cursor.Saw(event.Type, event.ResourceVersion); news && event.Type != watch.Deleted {
				if err := inuse.WriteChecksum(ctx, client, event.Object); err != nil {
					log.Print(err)
				}
			}
		}
		log.Print(err)
		cursor = cursor.Failed(err)
	}
	return nil
}
