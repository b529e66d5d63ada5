// Package nodes follows nodes and what is on them, with as little memory as it can.
package nodes

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var machines = schema.GroupVersionKind{Group: "infra.example.com", Version: "v1beta1", Kind: "Machine"}

// Drainer moves pods off nodes that are marked.
type Drainer struct {
	Client    client.Client
	APIReader client.Reader
}

func (d *Drainer) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	if err := d.Client.Get(ctx, client.ObjectKey{Name: req.Name}, node); err != nil {
		if meta.IsNoMatchError(err) {
			return reconcile.Result{}, reconcile.TerminalError(err)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	machine := &unstructured.Unstructured{}
	machine.SetGroupVersionKind(machines)
	if err := d.Client.Get(ctx, client.ObjectKey{Namespace: "machines", Name: node.Labels["machine"]}, machine, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}); err != nil {
		return reconcile.Result{}, err
	}
	if drain, _, _ := unstructured.NestedBool(machine.Object, "spec", "drain"); !drain {
		return reconcile.Result{}, nil
	}

	notDaemons, err := labels.NewRequirement("app", selection.NotIn, []string{"daemon"})
	if err != nil {
		return reconcile.Result{}, err
	}
	var pods corev1.PodList
	options := &client.ListOptions{Limit: 100, FieldSelector: fields.OneTermEqualSelector("spec.nodeName", req.Name)}
	for {
		if err := d.APIReader.List(ctx, &pods, options, client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*notDaemons)}); err != nil {
			return reconcile.Result{}, err
		}
		for i := range pods.Items {
			err = errors.Join(err, d.Client.SubResource("eviction").Create(ctx, &pods.Items[i], &policyv1.Eviction{}))
		}
		if options.Continue = pods.Continue; options.Continue == "" {
			break
		}
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	base := machine.DeepCopy()
	if err := unstructured.SetNestedField(machine.Object, "Drained", "status", "phase"); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, d.Client.Status().Patch(ctx, machine, client.MergeFrom(base), client.FieldOwner("drainer"))
}

// Watch uses metadata for nodes, and unstructured objects for machines.
func Watch(made controller.Controller, c client.Client, informers cache.Cache) error {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	machine := &unstructured.Unstructured{}
	machine.SetGroupVersionKind(machines)
	byOwner := handler.EnqueueRequestForOwner(c.Scheme(), c.RESTMapper(), &corev1.Node{})
	return errors.Join(
		made.Watch(source.Kind[client.Object](informers, node, &handler.EnqueueRequestForObject{})),
		made.Watch(source.Kind[client.Object](informers, machine, byOwner)),
		made.Watch(source.Kind[client.Object](informers, &corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			pod, ok := o.(*corev1.Pod)
			if !ok || pod.Spec.NodeName == "" {
				return nil
			}
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: pod.Spec.NodeName}}}
		}))),
	)
}
