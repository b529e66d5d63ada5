// Command inuse keeps the checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"log"

	corev1 "k8s.io/api/core/v1"
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
	if err != nil {
		return err
	}
	client := kubernetes.NewForConfigOrDie(config)
	return informer.NewReflector(from, sink(func(object *corev1.ConfigMap) {
		if err := inuse.WriteChecksum(ctx, client, object); err != nil {
			log.Print(err)
		}
	}), informer.ReflectorOptions{WatchErrorHandler: func(err error) { log.Print(err) }}).Run(ctx)
}

// sink is told each state of each object.
type sink func(object *corev1.ConfigMap)

func (s sink) Replace(objects []*corev1.ConfigMap, _ string) {
	for _, object := range objects {
		s(object)
	}
}

func (s sink) Apply(event informer.Event[*corev1.ConfigMap]) {
	if event.Type != watch.Deleted {
		s(event.Object)
	}
}

func (s sink) Progress(string) {}
