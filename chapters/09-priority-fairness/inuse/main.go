// Command inuse keeps a checksum of its data on each ConfigMap labelled checked=yes.
package main

import (
	"context"
	"fmt"
	"hash/crc32"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/workqueue"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	utilruntime.Must(err)
	utilruntime.Must(keep(context.Background(), config))
}

func keep(ctx context.Context, config *rest.Config) error {
	from, err := informer.NewListWatch[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"), informer.ListWatchOptions{LabelSelector: "checked=yes"})
	utilruntime.Must(err)
	configMaps, client := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{}), kubernetes.NewForConfigOrDie(config).CoreV1()
	queue := workqueue.NewPriority(workqueue.PriorityOptions[informer.Key]{Patience: 10, Group: func(key informer.Key) string { return key.Namespace }})
	how := map[bool]workqueue.AddOpts{true: {Priority: new(workqueue.LowPriority)}} // what was listed at the start can wait
	add := func(object *corev1.ConfigMap, initial bool) { queue.AddWithOpts(how[initial], informer.KeyOf(object)) }
	_, _ = configMaps.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{Add: add, Update: func(_, object *corev1.ConfigMap) { add(object, false) }}, informer.HandlerOptions{})
	go func() { err = configMaps.Run(ctx); queue.ShutDown() }()
	for key, priority, shutdown := queue.GetWithPriority(); !shutdown; key, priority, shutdown = queue.GetWithPriority() {
		var failed error
		if cached, found := configMaps.Store().Get(key); found {
			if object, sum := cached.DeepCopy(), fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, cached.Data))); object.Annotations["checksum"] != sum {
				metav1.SetMetaDataAnnotation(&object.ObjectMeta, "checksum", sum)
				_, failed = client.ConfigMaps(key.Namespace).Update(ctx, object, metav1.UpdateOptions{})
			}
		}
		if failed != nil {
			queue.AddWithOpts(workqueue.AddOpts{RateLimited: true, Priority: &priority}, key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
	return err
}
