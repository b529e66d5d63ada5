package controller_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// once is the smallest source: it adds one request. The sources of package source watch a cluster.
type once struct{ request reconcile.Request }

func (o once) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	queue.Add(o.request)
	return nil
}

// A controller needs a reconciler and a source.
func ExampleNewUnmanaged() {
	ctx, stop := context.WithCancel(context.Background())
	c, err := controller.NewUnmanaged("greeter", controller.Options{
		Reconciler: reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			fmt.Println("hello,", request)
			stop()
			return reconcile.Result{}, nil
		}),
		Logger: logr.FromSlogHandler(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	if err := c.Watch(once{web}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Start(ctx))
	// Output:
	// hello, shop/web
	// <nil>
}

// What a controller does about failures, a stop and the order of requests are options.
func ExampleOptions() {
	c, err := controller.NewUnmanaged("records", controller.Options{
		Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		}),
		MaxRetries:  10,   // then it waits for the next event
		DrainOnStop: true, // our source does not list again
		RateLimiter: &workqueue.Exponential[reconcile.Request]{Base: 1e9},
	})
	fmt.Println(c != nil, err)
	// Output: true <nil>
}
