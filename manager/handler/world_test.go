package handler_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/handler"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func newQueue() *workqueue.PriorityQueue[reconcile.Request] {
	return workqueue.NewPriority(workqueue.PriorityOptions[reconcile.Request]{})
}

func req(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func pod(name, version string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version, OwnerReferences: owners}}
}

func owner(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name}
}

func controlledBy(ref metav1.OwnerReference) metav1.OwnerReference {
	ref.Controller = new(true)
	return ref
}

// added says what a queue was given, in the order in which it hands it out: request, priority,
// number of adds, and reasons.
func added(t *testing.T, q *workqueue.PriorityQueue[reconcile.Request]) []string {
	t.Helper()
	found := []string{}
	for q.Len() > 0 {
		work, err := q.Next(t.Context())
		require.NoError(t, err)
		found = append(found, fmt.Sprintf("%s at %d: %s", work.Item, work.Priority, work.Causes))
		q.Done(work.Item)
	}
	return found
}

// happening is an event of any kind.
type happening struct {
	name string
	tell func(handler.EventHandler, queue)
}

func create(obj client.Object, initial bool) happening {
	return happening{fmt.Sprintf("create, initial %t", initial), func(h handler.EventHandler, q queue) {
		h.Create(context.Background(), event.CreateEvent{Object: obj, IsInInitialList: initial}, q)
	}}
}

func update(was, is client.Object) happening {
	return happening{"update", func(h handler.EventHandler, q queue) {
		h.Update(context.Background(), event.UpdateEvent{ObjectOld: was, ObjectNew: is}, q)
	}}
}

func remove(obj client.Object, unseen bool) happening {
	return happening{fmt.Sprintf("delete, unseen %t", unseen), func(h handler.EventHandler, q queue) {
		h.Delete(context.Background(), event.DeleteEvent{Object: obj, DeleteStateUnknown: unseen}, q)
	}}
}

func generic(obj client.Object) happening {
	return happening{"generic", func(h handler.EventHandler, q queue) {
		h.Generic(context.Background(), event.GenericEvent{Object: obj}, q)
	}}
}

// restMapper knows ReplicaSets and Deployments, which have a namespace, and Nodes, which have
// none.
func restMapper() *meta.DefaultRESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), meta.RESTScopeNamespace)
	m.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	return m
}

func forOwner(ownerType client.Object, opts ...handler.OwnerOption) handler.EventHandler {
	return handler.EnqueueRequestForOwner(scheme.Scheme, restMapper(), ownerType, opts...)
}

// twins is a scheme in which one Go type has two kinds.
func twins() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(appsv1.SchemeGroupVersion.WithKind("Castor"), &appsv1.ReplicaSet{})
	s.AddKnownTypeWithName(appsv1.SchemeGroupVersion.WithKind("Pollux"), &appsv1.ReplicaSet{})
	return s
}
