package informer_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

// List says what there is, and the watch from the list's resourceVersion says what
// happens next.
func ExampleNewListWatch() {
	server := fakeapi.New(fakeapi.Options{}) // or any rest.Config
	defer server.Close()
	ctx := context.Background()
	client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	if _, err := client.Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		panic(err)
	}

	configMaps, err := informer.NewListWatch[*corev1.ConfigMap](server.Config(),
		corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{Namespace: "default"})
	if err != nil {
		panic(err)
	}
	list, err := configMaps.List(ctx, metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	for _, object := range list.Items {
		fmt.Println("LISTED", object.Name)
	}

	cursor := informer.Cursor{}.Listed(list.ResourceVersion)
	watch, err := configMaps.Watch(ctx, cursor.WatchOptions())
	if err != nil {
		panic(err)
	}
	defer func() { _ = watch.Close() }()
	if err := client.Delete(ctx, "settings", metav1.DeleteOptions{}); err != nil {
		panic(err)
	}
	event, err := watch.Next()
	if err != nil {
		panic(err)
	}
	fmt.Println(event.Type, event.Object.Name)
	// Output:
	// LISTED settings
	// DELETED settings
}

// The kind may be chosen while the program runs. Here only the objects' metadata
// is read, under the Go type that all kinds have in common.
func ExampleNewListWatch_metadata() {
	server := fakeapi.New(fakeapi.Options{})
	defer server.Close()
	kind := corev1.SchemeGroupVersion.WithKind("Namespace")
	objects, err := informer.NewListWatch[informer.Object](server.Config(),
		kind.GroupVersion().WithResource("namespaces"),
		informer.ListWatchOptions{Form: informer.FormMetadata, Kind: kind})
	if err != nil {
		panic(err)
	}
	list, err := objects.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	for _, object := range list.Items {
		fmt.Println(object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
	}
	// Output:
	// Namespace default
	// Namespace kube-node-lease
	// Namespace kube-public
	// Namespace kube-system
}
