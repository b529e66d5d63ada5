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

// printer is a Sink that prints what it is told.
type printer struct{ told chan struct{} }

func (p printer) Replace(items []*corev1.ConfigMap, _ string) {
	fmt.Println("there are", len(items))
	p.told <- struct{}{}
}

func (p printer) Apply(event informer.Event[*corev1.ConfigMap]) {
	fmt.Println(event.Type, event.Object.Name)
	p.told <- struct{}{}
}

func (p printer) Progress(string) {}

// A reflector lists, watches, and starts over when it has to; its Sink only hears
// what that means.
func ExampleNewReflector() {
	server := fakeapi.New(fakeapi.Options{}) // or any rest.Config
	defer server.Close()
	configMaps, err := informer.NewListWatch[*corev1.ConfigMap](server.Config(),
		corev1.SchemeGroupVersion.WithResource("configmaps"),
		informer.ListWatchOptions{Namespace: "default"})
	if err != nil {
		panic(err)
	}
	sink := printer{told: make(chan struct{})}
	reflector := informer.NewReflector[*corev1.ConfigMap](configMaps, sink,
		informer.ReflectorOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- reflector.Run(ctx) }()

	<-sink.told // the first list
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}
	_, _ = kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default").Create(ctx,
		configMap, metav1.CreateOptions{})
	<-sink.told
	cancel()
	fmt.Println("ended with", <-ended)
	// Output:
	// there are 0
	// ADDED settings
	// ended with <nil>
}
