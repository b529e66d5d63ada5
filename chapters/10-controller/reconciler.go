package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/loopwright/loopwright/informer"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/trace"
)

// reconciler makes a database in the cloud for each order, which is a ConfigMap, and a Service that
// leads to the database.
type reconciler struct {
	orders   informer.StoreReader[*corev1.ConfigMap]
	secrets  informer.StoreReader[*corev1.Secret]
	client   kubernetes.Interface
	cloud    *cloud
	recorder *trace.Recorder
}

// region reconcile

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	order, found := r.orders.Get(request.NamespacedName)
	if !found {
		return reconcile.Result{}, nil // it was deleted
	}
	size, err := r.size(order)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err) // somebody has to correct the order
	}
	if name := order.Data["secret"]; name != "" {
		if _, found := r.secrets.Get(informer.Key{Namespace: order.Namespace, Name: name}); !found {
			return reconcile.Result{}, reconcile.WaitFor(reconcile.ObjectRef{Kind: "Secret", Namespace: order.Namespace, Name: name})
		}
	}
	left, err := r.cloud.provide(ctx, order.Name, size)
	if err != nil || left > 0 {
		return reconcile.Result{RequeueAfter: left}, err
	}
	return reconcile.Result{}, r.writeService(ctx, order)
}

// size is what the order says, or what the order says of which it is a copy.
func (r *reconciler) size(order *corev1.ConfigMap) (int, error) {
	if original := order.Data["copyOf"]; original != "" {
		order, _ = r.orders.Get(informer.Key{Namespace: order.Namespace, Name: original}) // and if there is none?
	}
	return strconv.Atoi(order.Data["size"])
}

// endregion reconcile

// writeService may be repeated: it says what should be there, and not what is to be changed.
func (r *reconciler) writeService(ctx context.Context, order *corev1.ConfigMap) error {
	began := time.Now()
	written, err := r.client.CoreV1().Services(order.Namespace).Apply(ctx,
		applycorev1.Service(order.Name, order.Namespace).WithSpec(applycorev1.ServiceSpec().
			WithType(corev1.ServiceTypeExternalName).WithExternalName(order.Name+".cloud.example")),
		metav1.ApplyOptions{FieldManager: "databases", Force: true})
	if err != nil {
		return fmt.Errorf("writing Service %s: %w", order.Name, err)
	}
	r.recorder.Record(trace.Event{
		Kind: trace.Write, Layer: "databases", Op: "apply", Object: "Service", Namespace: order.Namespace, Name: order.Name,
		Version: written.ResourceVersion, Took: time.Since(began),
	})
	return nil
}
