package reconcile_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/manager/reconcile"
)

// greeter gets the object itself. That it was deleted is no case to think of.
type greeter struct{}

func (greeter) Reconcile(_ context.Context, obj *corev1.ConfigMap) (reconcile.Result, error) {
	fmt.Println("hello", obj.Name)
	return reconcile.Result{}, nil
}

func ExampleAsReconciler() {
	r := reconcile.AsReconciler(reader{}, greeter{}) // the first is a client.Client
	_, err := r.Reconcile(context.Background(), request)
	fmt.Println(err)
	// Output:
	// hello web
	// <nil>
}
