// Package owning gives each ConfigMap a Service, and a record outside of the cluster.
package owning

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/finalizer"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Records are outside of the cluster.
type Records interface {
	Remove(ctx context.Context, name string) error
}

// Reconciler reconciles ConfigMaps.
type Reconciler struct {
	client.Client
	Finalizers finalizer.Finalizers
}

var _ reconcile.Reconciler = &Reconciler{}

type cleanup struct{ records Records }

func (c cleanup) Finalize(ctx context.Context, obj client.Object) (finalizer.Result, error) {
	return finalizer.Result{StatusUpdated: false, Updated: false}, c.records.Remove(ctx, obj.GetName())
}

// New makes a Reconciler.
func New(c client.Client, records Records) (*Reconciler, error) {
	r := &Reconciler{Client: c, Finalizers: finalizer.NewFinalizers()}
	var registerer finalizer.Registerer = r.Finalizers
	return r, registerer.Register("web.example.com/record", cleanup{records})
}

func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var owner corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &owner); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	result, err := r.Finalizers.Finalize(ctx, &owner)
	if err != nil {
		return reconcile.Result{}, err
	}
	if result.Updated {
		if err := r.Update(ctx, &owner); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !owner.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.serve(ctx, &owner)
}

func (r *Reconciler) serve(ctx context.Context, owner *corev1.ConfigMap) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: owner.Name, Namespace: owner.Namespace}}
	var mutate controllerutil.MutateFn = func() error {
		service.Spec.Selector = map[string]string{"app": owner.Name}
		var opts []controllerutil.OwnerReferenceOption
		opts = append(opts, controllerutil.WithBlockOwnerDeletion(false))
		return controllerutil.SetControllerReference(owner, service, r.Scheme(), opts...)
	}
	op, err := controllerutil.CreateOrPatch(ctx, r.Client, service, mutate)
	var owned *controllerutil.AlreadyOwnedError
	if errors.As(err, &owned) {
		return reconcile.TerminalError(fmt.Errorf("%s belongs to %s", owned.Object.GetName(), owned.Owner.Name))
	}
	if err != nil || op == controllerutil.OperationResultNone {
		return err
	}
	if owns, err := controllerutil.HasOwnerReference(service.OwnerReferences, owner, r.Scheme()); err != nil || !owns {
		return err
	}
	if controllerutil.ContainsFinalizer(service, "web.example.com/old") && controllerutil.RemoveFinalizer(service, "web.example.com/old") {
		_, err = controllerutil.CreateOrUpdate(ctx, r, service, nil)
	}
	return err
}
