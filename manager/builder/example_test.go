package builder_test

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
)

func ExampleControllerManagedBy() {
	cluster := fakeapi.New(fakeapi.Options{})
	defer cluster.Close()
	m, err := manager.New(cluster.Config(),
		manager.Options{Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	err = builder.ControllerManagedBy(m).
		For(&corev1.ConfigMap{}).
		Owns(&corev1.Secret{}).
		Complete(reconcile.Func(func(
			_ context.Context, request reconcile.Request,
		) (reconcile.Result, error) {
			fmt.Println(request)
			stop()
			return reconcile.Result{}, nil
		}))
	if err != nil {
		panic(err)
	}
	web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	if err := m.GetClient().Create(ctx, web); err != nil {
		panic(err)
	}
	if err := m.Start(ctx); err != nil {
		panic(err)
	}
	// Output: default/web
}
