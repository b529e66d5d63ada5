package website

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// NewController makes a controller without a manager.
func NewController(c client.Client, informers cache.Cache) (controller.Controller, error) {
	made, err := controller.NewUnmanaged("website", controller.Options{
		Reconciler:              &Reconciler{Client: c, Scheme: c.Scheme()},
		MaxConcurrentReconciles: 4,
		CacheSyncTimeout:        2 * time.Minute,
	})
	if err != nil {
		return nil, err
	}
	owner := handler.EnqueueRequestForOwner(c.Scheme(), c.RESTMapper(), &Website{}, handler.OnlyControllerOwner())
	return made, errors.Join(
		made.Watch(source.Kind[client.Object](informers, &Website{}, &handler.EnqueueRequestForObject{}, predicate.GenerationChangedPredicate{})),
		made.Watch(source.Kind(informers, client.Object(&appsv1.Deployment{}), owner)),
		made.Watch(source.Kind[client.Object](informers, &corev1.Service{}, owner, predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))),
	)
}
