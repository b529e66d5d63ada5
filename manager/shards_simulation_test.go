package manager_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/loopwright/loopwright/internal/simulation/stories"
	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/config"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
	"github.com/loopwright/loopwright/workqueue"
)

// Two replicas inside one object undo each other's work, and one that takes over and doesn't know all
// does it twice, whatever goes wrong.
func TestWhateverBreaksReplicasShareTheWork(t *testing.T) {
	stories.Shards(func(ctx context.Context, c stories.Colleague) error {
		m, err := manager.New(c.Connection, manager.Options{
			Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
			Sharding:      &manager.Sharding{ID: "it", Namespace: "default"},
			LeaseDuration: new(30 * time.Second), RenewDeadline: new(20 * time.Second), RetryPeriod: new(5 * time.Second),
			Controller: config.Controller{SkipNameValidation: new(true)},
		})
		if err != nil {
			return err
		}
		works, err := controller.New("it", m, controller.Options{
			MaxConcurrentReconciles: 10,
			// an old failure's next try mustn't look like work that never ends
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, time.Minute),
			Reconciler: reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, c.Reconcile(ctx, m.GetClient(), r.NamespacedName)
			}),
		})
		if err != nil {
			return err
		}
		enqueue := &handler.EnqueueRequestForObject{}
		handle := handler.Funcs{
			CreateFunc: enqueue.Create, UpdateFunc: enqueue.Update,
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				c.Deleted(client.ObjectKeyFromObject(e.Object))
				enqueue.Delete(ctx, e, q)
			},
		}
		if err := works.Watch(source.Kind[client.Object](m.GetCache(), &corev1.ConfigMap{}, handle)); err != nil {
			return err
		}
		return m.Start(ctx)
	}).Test(t)
}
