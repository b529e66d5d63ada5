// Command inuse keeps a checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/workqueue"
)

func main() {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig() // finds a cluster as kubectl does
	if err == nil {
		err = keep(context.Background(), config)
	}
	panic(err)
}

func keep(ctx context.Context, config *rest.Config) error {
	client := kubernetes.NewForConfigOrDie(config).CoreV1()
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"), informer.ListWatchOptions{LabelSelector: "checked=yes"})
	if err != nil {
		return err
	}
	configMaps := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{})
	queue := workqueue.NewDelaying(workqueue.Options[informer.Key]{})
	add := func(object *corev1.ConfigMap, _ bool) { queue.Add(informer.KeyOf(object)) }
	_, _ = configMaps.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{Add: add, Update: func(_, object *corev1.ConfigMap) { add(object, false) }}, informer.HandlerOptions{})
	go func() { err = configMaps.Run(ctx); queue.ShutDown() }()
	for key, shutdown := queue.Get(); !shutdown; key, shutdown = queue.Get() {
		if cached, found := configMaps.Store().Get(key); found {
			if object, sum := cached.DeepCopy(), fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, cached.Data))); object.Annotations["checksum"] != sum {
				metav1.SetMetaDataAnnotation(&object.ObjectMeta, "checksum", sum)
				queue.AddAfter(key, time.Second) // if the write succeeds, the second look finds nothing to do
				_, _ = client.ConfigMaps(key.Namespace).Update(ctx, object, metav1.UpdateOptions{})
			}
		}
		queue.Done(key)
	}
	return err
}
