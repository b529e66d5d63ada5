package main

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/loopwright/loopwright/manager"
	"github.com/loopwright/loopwright/manager/builder"
	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/conditions"
	"github.com/loopwright/loopwright/manager/controller/controllerutil"
	"github.com/loopwright/loopwright/manager/finalizer"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
)

const (
	// dnsFinalizer holds up the deletion of a Deployment until its DNS record is gone.
	dnsFinalizer = "loopwright.dev/dns"
	// published is a condition of the Service.
	published = "loopwright.dev/Published"
)

// exposer makes a Deployment reachable: by a DNS record, which is outside of the cluster, a Service and
// an Ingress.
type exposer struct {
	client.Client
	dns        *dns
	finalizers finalizer.Finalizers
}

func newExposer(c client.Client, records *dns) (*exposer, error) {
	e := &exposer{Client: c, dns: records, finalizers: finalizer.NewFinalizers()}
	return e, e.finalizers.Register(dnsFinalizer, records)
}

// region watch

// setUp tells the manager of the Deployments, and of the objects that they own.
func (e *exposer) setUp(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).Named(controllerName).
		For(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&networkingv1.Ingress{}).
		// An object that belongs to somebody else leads to no owner. Its end wakes who waits for its name.
		Watches(&corev1.Service{}, handler.EnqueueRequestsThatWaitFor(schema.GroupKind{Kind: "Service"})).
		Watches(&networkingv1.Ingress{}, handler.EnqueueRequestsThatWaitFor(schema.GroupKind{Group: networkingv1.GroupName, Kind: "Ingress"})).
		Complete(reconcile.AsReconciler(e, e))
}

// endregion watch

// region reconcile

// Reconcile does the same whatever has happened: it says what should be there.
func (e *exposer) Reconcile(ctx context.Context, d *appsv1.Deployment) (reconcile.Result, error) {
	gone, err := e.finalize(ctx, d)
	if gone || err != nil {
		return reconcile.Result{}, err
	}
	e.dns.publish(d)
	service, err := e.keepService(ctx, d)
	if err == nil {
		err = e.keepIngress(ctx, d)
	}
	if owned, is := errors.AsType[*controllerutil.AlreadyOwnedError](err); is {
		// Nothing but the end of that object helps. A retry would come too often, or too late.
		return reconcile.Result{}, reconcile.WaitFor(refOf(owned.Object))
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, e.report(ctx, service)
}

// finalize writes the finalizer before anything is made, and removes it after everything is cleaned up.
func (e *exposer) finalize(ctx context.Context, d *appsv1.Deployment) (gone bool, err error) {
	before := d.DeepCopy()
	result, err := e.finalizers.Finalize(ctx, d)
	if result.Updated {
		lock := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err = errors.Join(err, e.Patch(ctx, d, lock))
	}
	return !d.DeletionTimestamp.IsZero(), err
}

// endregion reconcile

// region keep

func (e *exposer) keepService(ctx context.Context, d *appsv1.Deployment) (*corev1.Service, error) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, e, service, func() error {
		service.Spec.Selector = d.Spec.Selector.MatchLabels
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}}
		return controllerutil.SetControllerReference(d, service, e.Scheme())
	})
	return service, err
}

func (e *exposer) keepIngress(ctx context.Context, d *appsv1.Deployment) error {
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, e, ingress, func() error {
		ingress.Spec.Rules = []networkingv1.IngressRule{ruleFor(d)}
		return controllerutil.SetControllerReference(d, ingress, e.Scheme())
	})
	return err
}

// report writes into the Service's status that it can be found. If that is there already, nothing is
// written.
func (e *exposer) report(ctx context.Context, service *corev1.Service) error {
	before := service.DeepCopy()
	conditions.Set(service, &service.Status.Conditions, metav1.Condition{
		Type: published, Status: metav1.ConditionTrue, Reason: "RecordMade", Message: host(service) + " leads here",
	})
	_, err := conditions.Write(ctx, e, before, service)
	return err
}

// endregion keep

func ruleFor(d *appsv1.Deployment) networkingv1.IngressRule {
	prefix := networkingv1.PathTypePrefix
	return networkingv1.IngressRule{Host: host(d), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
		Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: d.Name, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}}},
	}}}
}

func host(obj metav1.Object) string { return obj.GetName() + ".shop.example" }

// refOf names a Service or an Ingress.
func refOf(obj metav1.Object) reconcile.ObjectRef {
	ref := reconcile.ObjectRef{Kind: "Service", Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if _, is := obj.(*networkingv1.Ingress); is {
		ref.Group, ref.Kind = networkingv1.GroupName, "Ingress"
	}
	return ref
}
