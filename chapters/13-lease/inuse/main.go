// Command inuse keeps the checksum of its data on each ConfigMap labelled checked=yes. Run it twice.
package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/leaderelection"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

func main() { inuse.Main(keep) }

func keep(ctx context.Context, config *rest.Config) error {
	checked := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"checked": "yes"})}
	objects, err1 := cache.New(config, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: checked}})
	c, err2 := client.New(config, client.Options{Cache: &client.CacheOptions{Reader: objects}})
	checksums, err3 := controller.NewUnmanaged("checksums", controller.Options{Reconciler: reconcile.AsReconciler(c, keeper{c})})
	lock, err4 := leaderelection.NewResourceLock(config, nil, leaderelection.Options{LeaderElection: true, LeaderElectionID: "checksums", LeaderElectionNamespace: "default"})
	elector, err5 := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true, WaitForMissing: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(ctx context.Context) { _ = checksums.Start(ctx) }, OnStoppedLeading: func() {}}})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	go func() { _ = objects.Start(ctx) }() // a follower's cache is warm; a manager would return the error
	return errors.Join(checksums.Watch(source.Kind[client.Object](objects, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{})), elector.Elect(ctx))
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(ctx context.Context, object *corev1.ConfigMap) (reconcile.Result, error) {
	if inuse.HasChecksum(object) {
		return reconcile.Result{}, nil
	}
	inuse.SetChecksum(object)
	return reconcile.Result{}, k.Update(ctx, object)
}
