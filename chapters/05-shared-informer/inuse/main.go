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
	client, resource := kubernetes.NewForConfigOrDie(config).CoreV1(), corev1.SchemeGroupVersion.WithResource("configmaps")
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, resource, informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	configMaps := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{})
	lister := configMaps.Lister(resource.GroupResource())
	check := func(told *corev1.ConfigMap, _ bool) {
		if cached, err := lister.Get(told.Namespace, told.Name); err == nil { // the newest; by now, it may be gone
			if sum := fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, cached.Data))); cached.Annotations["checksum"] != sum {
				object := cached.DeepCopy() // the cache is for reading
				metav1.SetMetaDataAnnotation(&object.ObjectMeta, "checksum", sum)
				_, _ = client.ConfigMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{})
			}
		}
	}
	handler := informer.HandlerFuncs[*corev1.ConfigMap]{Add: check, Update: func(_, object *corev1.ConfigMap) { check(object, false) }}
	_, _ = configMaps.AddHandler(handler, informer.HandlerOptions{Resync: time.Minute}) // fails only after Run
	return configMaps.Run(ctx)
}
