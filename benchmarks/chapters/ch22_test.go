package chapters

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/controllers"
	"github.com/loopwright/loopwright/controllers/replicaset"
	"github.com/loopwright/loopwright/internal/fakeapi"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/mini"
)

// A whole controller runs, and a user creates a ReplicaSet: how long until its status says that all Pods are there? The API
// server is in memory, in the same process, and most of the time is its own.
func Benchmark22(b *testing.B) {
	compare(b, "a ReplicaSet from nothing to all of its Pods", "Pods", []int{10, 1_000},
		peer{"mini", func(b *testing.B, n int) {
			grow(b, n, func(config *rest.Config) (func(context.Context) error, error) {
				m := mini.NewManager(miniCluster(b, config))
				c, err := mini.NewReplicaSetController(m)
				if err == nil {
					m.AddController(c)
				}
				return m.Run, err
			})
		}},
		peer{"library", func(b *testing.B, n int) {
			grow(b, n, func(config *rest.Config) (func(context.Context) error, error) {
				m, err := manager.New(config, manager.Options{Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard()})
				if err == nil {
					err = replicaset.Add(m, controllers.Options{})
				}
				return m.Start, err
			})
		}},
	)
}

func grow(b *testing.B, n int, build func(*rest.Config) (run func(context.Context) error, err error)) {
	api := fakeapi.New(fakeapi.Options{})
	b.Cleanup(api.Close)
	run, err := build(api.Config())
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx) }()
	client, err := kubernetes.NewForConfig(api.Config())
	if err != nil {
		b.Fatal(err)
	}
	sets := client.AppsV1().ReplicaSets("default")
	one := func() {
		rs, err := sets.Create(ctx, replicaSet(n), metav1.CreateOptions{})
		if err != nil {
			b.Fatal(err)
		}
		w, err := sets.Watch(ctx, metav1.ListOptions{ResourceVersion: rs.ResourceVersion, FieldSelector: "metadata.name=" + rs.Name})
		if err != nil {
			b.Fatal(err)
		}
		defer w.Stop()
		for event := range w.ResultChan() {
			if event.Object.(*appsv1.ReplicaSet).Status.Replicas == int32(n) {
				return
			}
		}
		b.Fatal("the watch has ended")
	}
	one() // the first waits until the controller works
	for b.Loop() {
		one()
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
