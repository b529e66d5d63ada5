// Package secretcopy copies secrets that are marked into all namespaces.
package secretcopy

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	mark       = "example.com/copy"
	sourceName = "sourceName"
)

// Add makes the controller and its watches.
func Add(ctx context.Context, c client.Client, informers cache.Cache) (controller.Controller, error) {
	if err := informers.IndexField(ctx, &corev1.Secret{}, sourceName, func(o client.Object) []string {
		from, ok := o.GetAnnotations()["example.com/copied-from"]
		if !ok {
			return nil
		}
		return []string{from}
	}); err != nil {
		return nil, err
	}
	copier, err := controller.NewUnmanaged("secret-copy", controller.Options{Reconciler: reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		return copyAll(ctx, c, req)
	})})
	if err != nil {
		return nil, err
	}
	marked := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[mark] == "true" })
	var secret client.Object = &corev1.Secret{}
	if err := copier.Watch(source.Kind(informers, secret, &handler.EnqueueRequestForObject{}, marked)); err != nil {
		return nil, fmt.Errorf("watching secrets: %w", err)
	}
	var namespace client.Object = &corev1.Namespace{}
	return copier, copier.Watch(source.Kind(informers, namespace,
		handler.EnqueueRequestsFromMapFunc(allMarked(c)),
		predicate.Funcs{
			UpdateFunc:  func(e event.UpdateEvent) bool { return false },
			DeleteFunc:  func(event.DeleteEvent) bool { return false },
			GenericFunc: func(event.GenericEvent) bool { return false },
			CreateFunc:  func(e event.CreateEvent) bool { return e.Object.GetName() != metav1.NamespaceSystem },
		}))
}

func allMarked(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, namespace client.Object) []reconcile.Request {
		var secrets corev1.SecretList
		if err := c.List(ctx, &secrets, client.MatchingLabels{mark: "true"}, client.HasLabels{mark}, client.Limit(500)); err != nil {
			return nil
		}
		requests := make([]reconcile.Request, 0, len(secrets.Items))
		for _, s := range secrets.Items {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: s.Namespace, Name: s.Name}})
		}
		return requests
	}
}

func copyAll(ctx context.Context, c client.Client, req reconcile.Request) (result reconcile.Result, err error) {
	original := &corev1.Secret{}
	if err := c.Get(ctx, req.NamespacedName, original); apierrors.IsNotFound(err) {
		return result, c.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace("copies"), client.MatchingLabels{"origin": req.Name})
	} else if err != nil {
		return result, err
	}
	copies := &corev1.SecretList{}
	if err := c.List(ctx, copies, client.MatchingFields{sourceName: req.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return result, err
	}
	have := map[string]corev1.Secret{}
	for _, s := range copies.Items {
		have[s.Namespace] = s
	}
	namespaces := &corev1.NamespaceList{}
	if err := c.List(ctx, namespaces); err != nil {
		return result, err
	}
	var errs []error
	for i := range namespaces.Items {
		to := &namespaces.Items[i]
		if to.Name == req.Namespace || to.Status.Phase == corev1.NamespaceTerminating {
			continue
		}
		if old, ok := have[to.Name]; ok {
			changed := old.DeepCopy()
			changed.Data = maps.Clone(original.Data)
			errs = append(errs, c.Update(ctx, changed))
			continue
		}
		errs = append(errs, c.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: to.Name, Name: req.Name, Annotations: map[string]string{"example.com/copied-from": req.String()}},
			Data:       original.Data,
		}))
	}
	return result, utilerrors.NewAggregate(errs)
}
