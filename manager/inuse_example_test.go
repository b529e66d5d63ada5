// Code generated from chapters/14-manager/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package manager_test

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// The job of the course with a Manager, which starts and stops all of it: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_manager() {
	inusetest.Show(keepWithManager)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithManager(ctx context.Context, config *rest.Config) error {
	checked := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"checked": "yes"})}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: checked}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	checksums := ctrl.NewControllerManagedBy(mgr).Named("checksums").For(&corev1.ConfigMap{})
	return errors.Join(checksums.Complete(reconcile.AsReconciler(mgr.GetClient(), keeper{mgr.GetClient()})), mgr.Start(ctx))
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(ctx context.Context, object *corev1.ConfigMap) (reconcile.Result, error) {
	if inuse.HasChecksum(object) {
		return reconcile.Result{}, nil
	}
	inuse.SetChecksum(object)
	return reconcile.Result{}, k.Update(ctx, object)
}
