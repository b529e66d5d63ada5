// Code generated from chapters/16-apply/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package client_test

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"

	ctrl "github.com/loopwright/loopwright"
	"github.com/loopwright/loopwright/internal/demo/inuse"
	"github.com/loopwright/loopwright/internal/demo/inusetest"
	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
)

// The job of the course with an apply of the one field that's meant: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_apply() {
	inusetest.Show(keepWithApply)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithApply(ctx context.Context, config *rest.Config) error {
	checked := labels.SelectorFromSet(labels.Set{"checked": "yes"})
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Label: checked}}}})
	if err != nil {
		return err
	}
	checksums := ctrl.NewControllerManagedBy(mgr).Named("checksums").For(&corev1.ConfigMap{})
	k := keeper{client.WithFieldOwner(mgr.GetClient(), "checksums")}
	return errors.Join(checksums.Complete(reconcile.AsReconciler(mgr.GetClient(), k)), mgr.Start(ctx))
}

type keeper struct{ client.Client }

func (k keeper) Reconcile(ctx context.Context, object *corev1.ConfigMap) (reconcile.Result, error) {
	if inuse.HasChecksum(object) {
		return reconcile.Result{}, nil
	}
	inuse.SetChecksum(object)
	wanted := coreapply.ConfigMap(object.Name, object.Namespace).
		WithUID(object.UID). // or a ConfigMap that was just deleted would come back
		WithAnnotations(map[string]string{"checksum": object.Annotations["checksum"]})
	return reconcile.Result{}, k.Apply(ctx, wanted, client.ForceOwnership)
}
