package informer_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/internal/fakeapi"
)

var configMapResource = corev1.SchemeGroupVersion.WithResource("configmaps")

// A handler hears what changes, and a lister reads what there is.
func ExampleNewInformer() {
	server := fakeapi.New(fakeapi.Options{}) // or any rest.Config
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())
	client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "prices"}}
	if _, err := client.Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		panic(err)
	}

	from, err := informer.NewListWatch[*corev1.ConfigMap](server.Config(), configMapResource,
		informer.ListWatchOptions{})
	if err != nil {
		panic(err)
	}
	configMaps := informer.NewInformer(from, informer.InformerOptions[*corev1.ConfigMap]{
		Transform: informer.DropManagedFields[*corev1.ConfigMap],
	})
	heard := make(chan string)
	_, err = configMaps.AddHandler(informer.HandlerFuncs[*corev1.ConfigMap]{
		Add: func(object *corev1.ConfigMap, initial bool) {
			heard <- fmt.Sprintln("add", object.Name, "initial:", initial)
		},
		Update: func(_, object *corev1.ConfigMap) {
			heard <- fmt.Sprintln("update", object.Name, object.Data)
		},
	}, informer.HandlerOptions{Name: "printer"})
	if err != nil {
		panic(err)
	}
	ended := make(chan error)
	go func() { ended <- configMaps.Run(ctx) }()
	if err := configMaps.WaitForSync(ctx); err != nil {
		panic(err)
	}
	fmt.Print(<-heard)

	lister := configMaps.Lister(configMapResource.GroupResource()).InNamespace("default")
	cached, err := lister.Get("prices")
	if err != nil {
		panic(err)
	}
	changed := cached.DeepCopy() // the cache is for reading
	changed.Data = map[string]string{"apple": "1"}
	if changed, err = client.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		panic(err)
	}
	if err := configMaps.WaitFor(ctx, informer.KeyOf(changed), changed.ResourceVersion); err != nil {
		panic(err)
	}
	for object := range lister.List(labels.Everything()) {
		fmt.Println("listed", object.Name, object.Data)
	}
	fmt.Print(<-heard)
	cancel()
	fmt.Println("ended with", <-ended)
	// Output:
	// add prices initial: true
	// listed prices map[apple:1]
	// update prices map[apple:1]
	// ended with <nil>
}

// Two parts of a program that ask for the same collection share one informer, and
// so one watch and one copy of every object.
func ExampleNewFactory() {
	server := fakeapi.New(fakeapi.Options{}) // or any rest.Config
	defer server.Close()
	factory := informer.NewFactory(server.Config(), informer.FactoryOptions{DropManagedFields: true})
	configMaps, err := informer.InformerFor[*corev1.ConfigMap](factory,
		informer.Collection{Resource: configMapResource})
	if err != nil {
		panic(err)
	}
	same, _ := informer.InformerFor[*corev1.ConfigMap](factory,
		informer.Collection{Resource: configMapResource})
	other, _ := informer.InformerFor[*corev1.ConfigMap](factory,
		informer.Collection{Resource: configMapResource, Namespace: "default"})

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- factory.Run(ctx) }()
	if err := factory.WaitForSync(ctx); err != nil {
		panic(err)
	}
	fmt.Println("shared:", configMaps == same, configMaps == other)
	fmt.Println("config maps:", configMaps.Store().Len())
	cancel()
	fmt.Println("ended with", <-ended)
	// Output:
	// shared: true false
	// config maps: 0
	// ended with <nil>
}
