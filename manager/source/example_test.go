package source_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/workqueue"
)

// A controller of ConfigMaps watches them, and looks only when one is not the same as before.
func ExampleKind() {
	var c cache.Cache // a cache
	src := source.Kind[client.Object](c, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{}, predicate.ResourceVersionChangedPredicate{})
	fmt.Println(src)
	// Output: kind source: *v1.ConfigMap
}

// Something outside the cluster says which object needs a look.
func ExampleChannel() {
	webhooks := make(chan event.GenericEvent, 1)
	webhooks <- event.GenericEvent{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}}
	src := source.Channel(webhooks, &handler.EnqueueRequestForObject{}, source.WithBufferSize[client.Object, reconcile.Request](10))

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	queue := workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{}) // a controller has one
	if err := src.Start(ctx, queue); err != nil {
		fmt.Println(err)
		return
	}
	request, _ := queue.Get()
	fmt.Println(request)
	// Output: shop/web
}

// For an informer that one has already.
func ExampleInformer() {
	src := &source.Informer{Handler: &handler.EnqueueRequestForObject{}}
	fmt.Println(src.Start(context.Background(), nil))
	// Output: the source has no Informer
}

// The smallest source: it asks for one object when the controller starts.
func ExampleFunc() {
	web := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "web"}}
	src := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(web)
		return nil
	})
	queue := workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{})
	fmt.Println(src.Start(context.Background(), queue), queue.Len())
	// Output: <nil> 1
}
