package informer_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/informer"
)

// The consumer is away while an object changes ten times and another one comes and
// goes. It is told once about the first and never about the second.
func ExampleNewDeltaQueue() {
	store := informer.NewStore[*corev1.ConfigMap](informer.StoreOptions{})
	queue := informer.NewDeltaQueue(store, informer.DeltaQueueOptions{})
	configMap := func(name, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name), ResourceVersion: version}}
	}
	apply := func(kind watch.EventType, object *corev1.ConfigMap) {
		queue.Apply(informer.Event[*corev1.ConfigMap]{Type: kind, Object: object, ResourceVersion: object.ResourceVersion})
	}
	// A reflector does this:
	queue.Replace([]*corev1.ConfigMap{configMap("settings", "10")}, "10")
	for version := 11; version <= 20; version++ {
		apply(watch.Modified, configMap("settings", fmt.Sprint(version)))
	}
	apply(watch.Added, configMap("brief", "21"))
	apply(watch.Deleted, configMap("brief", "22"))

	var batch informer.Batch[*corev1.ConfigMap]
	<-queue.Ready()
	for queue.Pop(&batch) {
		for _, delta := range batch.Deltas {
			fmt.Println(delta.Type, delta.Object.Name, "at version", delta.Object.ResourceVersion)
			store.Put(delta.Object) // or Delete, if that is its Type
		}
	}
	// Output:
	// Added settings at version 20
}
