package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/controller"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/predicate"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/manager/source"
)

// watches are the sources of the controller.
type watches struct {
	stalls, prices, discounts, sellers, visits controller.Source
}

func (w *watches) all() []controller.Source {
	return []controller.Source{w.stalls, w.prices, w.discounts, w.sellers, w.visits}
}

// region watches

// newWatches makes the sources. visits come from outside of the cluster.
func newWatches(market *informers, visits <-chan event.GenericEvent) (*watches, error) {
	// This predicate loses events. The demo shows which, and stallBeforeOrAfter is better.
	stallNow, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"story": "stall"}})
	if err != nil {
		return nil, err
	}
	isPrices := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == "prices" })
	toOwner := handler.EnqueueRequestForOwner(scheme.Scheme, mapper(), &corev1.ConfigMap{})
	return &watches{
		stalls:    source.Kind(market, &corev1.ConfigMap{}, &handler.EnqueueRequestForObject{}, stallNow),
		prices:    source.Kind(market, &corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(market.allStalls), isPrices),
		discounts: source.Kind(market, market.newDiscount(), handler.EnqueueRequestsFromMapFunc(stallOfDiscount)),
		sellers:   source.Kind(market, &corev1.Pod{}, toOwner, newsOfSellers),
		visits:    source.Channel(visits, &handler.EnqueueRequestForObject{}),
	}, nil
}

// allStalls is who has to know when the prices change.
func (i *informers) allStalls(context.Context, client.Object) (requests []reconcile.Request) {
	for _, stall := range i.stalls() {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(stall)})
	}
	return requests
}

func stallOfDiscount(_ context.Context, object client.Object) []reconcile.Request {
	discount := object.(*unstructured.Unstructured)
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: discount.GetNamespace(), Name: stallOf(discount)}}}
}

// endregion watches

// region predicates

// newsOfSellers is what this controller does not know yet. It knows the sellers that it has made, and
// the prices that it has written, and it does not care how they are. Deletions pass.
var newsOfSellers = predicate.Funcs{CreateFunc: isListed, UpdateFunc: ownersChanged}

func isListed(e event.CreateEvent) bool { return e.IsInInitialList }

func ownersChanged(e event.UpdateEvent) bool {
	return !equalOwners(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
}

// stallBeforeOrAfter lets an event pass if its object is a stall, or was one before.
var stallBeforeOrAfter = predicate.Funcs{
	CreateFunc:  func(e event.CreateEvent) bool { return isStall(e.Object) },
	UpdateFunc:  func(e event.UpdateEvent) bool { return isStall(e.ObjectOld) || isStall(e.ObjectNew) },
	DeleteFunc:  func(e event.DeleteEvent) bool { return isStall(e.Object) },
	GenericFunc: func(e event.GenericEvent) bool { return isStall(e.Object) },
}

// endregion predicates

func equalOwners(a, b []metav1.OwnerReference) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].UID != b[i].UID {
			return false
		}
	}
	return true
}

// mapper knows the one kind that owns something here.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return m
}
