package handler_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// next prints what a worker would get.
func next(q *workqueue.PriorityQueue[reconcile.Request]) {
	if q.Len() == 0 {
		fmt.Println("nothing") // to wait for it would take forever
		return
	}
	work, _ := q.Next(context.Background())
	fmt.Printf("%s: %s\n", work.Item, work.Causes)
}

func ExampleEnqueueRequestForObject() {
	q := newQueue()
	h := &handler.EnqueueRequestForObject{}
	h.Create(context.Background(), event.CreateEvent{Object: pod("web-1", "1")}, q)
	next(q)
	// Output: shop/web-1: create of Pod shop/web-1
}

// The ReplicaSet controller watches Pods to know when one of its own is gone.
func ExampleEnqueueRequestForOwner() {
	q := newQueue()
	h := handler.EnqueueRequestForOwner(scheme.Scheme, restMapper(), &appsv1.ReplicaSet{}, handler.OnlyControllerOwner())
	mine := pod("web-1", "1", controlledBy(owner("apps/v1", "ReplicaSet", "web")))
	h.Delete(context.Background(), event.DeleteEvent{Object: mine}, q)
	next(q)
	// Output: shop/web: delete of Pod shop/web-1, through its owner
}

// All Pods share one settings object, so a change of it concerns each of them.
func ExampleEnqueueRequestsFromMapFunc() {
	q := newQueue()
	h := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, settings client.Object) []reconcile.Request {
		return []reconcile.Request{req(settings.GetNamespace(), "web-1"), req(settings.GetNamespace(), "web-2")}
	})
	h.Generic(context.Background(), event.GenericEvent{Object: pod("settings", "1")}, q)
	next(q)
	next(q)
	// Output:
	// shop/web-1: generic event of Pod shop/settings, through a map function
	// shop/web-2: generic event of Pod shop/settings, through a map function
}

func ExampleFuncs() {
	q := newQueue()
	h := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		q.Add(req(e.Object.GetNamespace(), "undertaker"))
	}}
	h.Delete(context.Background(), event.DeleteEvent{Object: pod("web-1", "1")}, q)
	next(q)
	// Output: shop/undertaker: delete of Pod shop/web-1, through a handler function
}
