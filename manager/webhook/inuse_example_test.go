// Code generated from chapters/18-defaulting/inuse/main.go by a test in internal/demo/inusetest. DO NOT EDIT.

package webhook_test

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
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/metrics/server"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/webhook"
	"github.com/loopwright/loopwright/manager/webhook/devca"
)

// The job of the course with a Defaulter, which the API server asks before it stores anything: each ConfigMap
// labelled checked=yes has the checksum of its data in an annotation.
func Example_webhook() {
	inusetest.Show(keepWithWebhook)
	// Output:
	// hello map[a:1] has the checksum 3e0d0492
	// hello map[a:2] has the checksum 15205751
}

func keepWithWebhook(ctx context.Context, config *rest.Config) error {
	checked := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{"checked": "yes"})}
	ca, err := devca.New(config, devca.Options{MutatingWebhookConfigurations: []string{"checksums"}})
	mgr, err2 := ctrl.NewManager(config, ctrl.Options{
		Cache:   cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: checked}},
		Metrics: server.Options{BindAddress: "0"}, WebhookServer: ca.NewServer(webhook.Options{Host: "127.0.0.1"}),
	})
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	k := keeper{mgr.GetClient()}
	return errors.Join(ctrl.NewWebhookManagedBy(mgr, &corev1.ConfigMap{}).WithDefaulter(k).Complete(),
		ctrl.NewControllerManagedBy(mgr).Named("checksums").For(&corev1.ConfigMap{}).Complete(reconcile.AsReconciler(k, k)), mgr.Start(ctx))
}

type keeper struct{ client.Client }

func (keeper) Default(_ context.Context, object *corev1.ConfigMap) error {
	inuse.SetChecksum(object)
	return nil
}

func (k keeper) Reconcile(ctx context.Context, object *corev1.ConfigMap) (reconcile.Result, error) {
	_, err := controllerutil.CreateOrUpdate(ctx, k, object, func() error { return k.Default(ctx, object) })
	return reconcile.Result{}, err
}
