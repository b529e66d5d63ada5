// Command teams is the controller of chapter 9 once more: each Namespace with a label has a ConfigMap.
package main

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

func main() { inuse.Main(run) }

func run(ctx context.Context, config *rest.Config) error {
	labelled, err := labels.Parse(teamLabel)
	objects, err2 := cache.New(config, cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Namespace{}: {Label: labelled}, &corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.name", "team")}}})
	c, err3 := client.New(config, client.Options{Cache: &client.CacheOptions{Reader: objects, EnableReadYourWritesConsistency: new(true)}})
	teams, err4 := controller.NewUnmanaged("teams", controller.Options{Reconciler: keeper{c}, MaxConcurrentReconciles: 2})
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = objects.Start(ctx) })
	defer running.Wait()
	defer stop()
	namespaceOf := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, configMap client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: configMap.GetNamespace()}}}
	})
	return errors.Join(teams.Watch(source.Kind(objects, &corev1.Namespace{}, &handler.EnqueueRequestForObject{})),
		teams.Watch(source.Kind(objects, &corev1.ConfigMap{}, namespaceOf)), teams.Start(ctx))
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(ctx context.Context, request reconcile.Request) (_ reconcile.Result, err error) {
	// The ConfigMap first: this read may wait for our last write, and the Namespace should be newer than that.
	found, err := get(ctx, k, client.ObjectKey{Namespace: request.Name, Name: "team"}, &corev1.ConfigMap{})
	namespace, err2 := get(ctx, k, request.NamespacedName, &corev1.Namespace{})
	if err := errors.Join(err, err2); err != nil {
		return reconcile.Result{}, err
	}
	switch do := decide(namespace, found, "team", "team-controller"); do.op {
	case create:
		err = k.Create(ctx, do.configMap)
	case update:
		err = k.Update(ctx, do.configMap)
	case remove:
		err = k.Delete(ctx, do.configMap, client.Preconditions{UID: &do.configMap.UID, ResourceVersion: &do.configMap.ResourceVersion})
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		err = nil // everything in it goes, and nothing can be made there
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// get returns nil if the object is not there.
func get[T client.Object](ctx context.Context, k keeper, key client.ObjectKey, into T) (found T, err error) {
	if err := k.Get(ctx, key, into); err != nil {
		return found, client.IgnoreNotFound(err)
	}
	return into, nil
}
