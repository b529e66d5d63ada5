// Command inuse keeps a checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"log"
	"os"

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
	return informer.NewReflector(from, sink(func(object *corev1.ConfigMap, deleted bool) {
		if sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, object.Data))); !deleted && object.Annotations["checksum"] != sum {
			metav1.SetMetaDataAnnotation(&object.ObjectMeta, "checksum", sum)
			_, _ = configMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{})
		}
	}), informer.ReflectorOptions{WatchErrorHandler: func(err error) { log.Print(err) }}).Run(ctx)
}

type sink func(object *corev1.ConfigMap, deleted bool)

func (s sink) Apply(e informer.Event[*corev1.ConfigMap]) { s(e.Object, e.Type == "DELETED") }
func (s sink) Progress(string)                           {}
func (s sink) Replace(objects []*corev1.ConfigMap, _ string) {
	for _, object := range objects {
		s(object, false)
	}
}
