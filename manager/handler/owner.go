package handler

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
	"github.com/loopwright/loopwright/manager/reconcile"
	"github.com/loopwright/loopwright/workqueue"
)

// OwnerOption changes what EnqueueRequestForOwner does.
type OwnerOption func(*owners)

// OnlyControllerOwner looks only at the one owner reference that has controller: true.
func OnlyControllerOwner() OwnerOption {
	return func(o *owners) { o.onlyController = true }
}

// EnqueueRequestForOwner is TypedEnqueueRequestForOwner for any object.
func EnqueueRequestForOwner(
	scheme *runtime.Scheme, mapper meta.RESTMapper, ownerType client.Object, opts ...OwnerOption,
) EventHandler {
	return TypedEnqueueRequestForOwner[client.Object](scheme, mapper, ownerType, opts...)
}

// TypedEnqueueRequestForOwner enqueues the object's owners that have the kind of ownerType. Owners
// are compared by group and kind, because a reference keeps the version that it was written with,
// and the owner is the same object in all versions. For an update, it enqueues the owners before
// and after.
//
// It panics if the scheme doesn't know exactly one kind for ownerType, as controller-runtime's
// does. A program has this wrong from the start or never.
//
// The mapper says whether owners of the kind have a namespace. Once it has answered, it isn't
// called again, so a CRD that is recreated with another scope needs a restart. Until it answers,
// the handler looks for owners in the object's namespace, where most are, and logs that.
// controller-runtime drops the event in that case, even for the other owners.
func TypedEnqueueRequestForOwner[object client.Object](
	scheme *runtime.Scheme, mapper meta.RESTMapper, ownerType client.Object, opts ...OwnerOption,
) TypedEventHandler[object, reconcile.Request] {
	kind, err := kindIn(scheme, ownerType)
	if err != nil {
		panic(fmt.Errorf("handler.EnqueueRequestForOwner: %w", err))
	}
	h := &ownerHandler[object]{owners{owner: kind, mapper: mapper}}
	for _, opt := range opts {
		opt(&h.owners)
	}
	return h
}

func kindIn(scheme *runtime.Scheme, obj client.Object) (schema.GroupVersionKind, error) {
	if event.IsNil(obj) {
		return schema.GroupVersionKind{},
			fmt.Errorf("the type of the owner is a nil %T: give it an empty object", obj)
	}
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionKind{},
			fmt.Errorf("the owner's kind is unknown; was its AddToScheme called? %w", err)
	}
	if len(kinds) != 1 {
		return schema.GroupVersionKind{},
			fmt.Errorf("the scheme has %d kinds for the owner type %T, and it has to be one: %v",
				len(kinds), obj, kinds)
	}
	return kinds[0], nil
}

// owners finds the owners of a kind.
type owners struct {
	owner          schema.GroupVersionKind
	onlyController bool
	mapper         meta.RESTMapper
	scope          atomic.Value // a meta.RESTScopeName, once the mapper has answered
}

type ownerHandler[object client.Object] struct{ owners }

func (h *ownerHandler[object]) Create(
	_ context.Context, e event.TypedCreateEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofCreate(e))
}

func (h *ownerHandler[object]) Update(
	_ context.Context, e event.TypedUpdateEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofUpdate(e))
}

func (h *ownerHandler[object]) Delete(
	_ context.Context, e event.TypedDeleteEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofDelete(e))
}

func (h *ownerHandler[object]) Generic(
	_ context.Context, e event.TypedGenericEvent[object],
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofGeneric(e))
}

func (h *ownerHandler[object]) own() ownHandler {
	return ownHandler{goType: reflect.TypeFor[*ownerHandler[object]](), toKind: h.owner.Kind}
}

// String is the handler's name in the flight recorder.
func (o *owners) String() string {
	return "EnqueueRequestForOwner(" + o.owner.GroupKind().String() + ")"
}

func (o *owners) enqueue(
	queue workqueue.TypedRateLimitingInterface[reconcile.Request], c cause,
) {
	var requests []reconcile.Request
	for _, obj := range []client.Object{c.older, c.object} {
		if obj == nil {
			continue
		}
		for ref := range ownersOf(obj, o.owner.GroupKind(), o.onlyController) {
			request := ownerRequest(ref.Name, obj.GetNamespace(), o.scopeOf(ref))
			if !slices.Contains(requests, request) {
				requests = append(requests, request)
			}
		}
	}
	enqueue(queue, c.opts(", through its owner"), requests...)
}

// ownersOf yields the references to owners of a kind.
func ownersOf(
	obj client.Object, kind schema.GroupKind, onlyController bool,
) func(yield func(metav1.OwnerReference) bool) {
	return func(yield func(metav1.OwnerReference) bool) {
		for _, ref := range obj.GetOwnerReferences() {
			controls := ref.Controller != nil && *ref.Controller
			if onlyController && !controls {
				continue
			}
			if refersTo(ref, kind) && !yield(ref) || onlyController {
				return // the first that controls is the one, whatever its kind
			}
		}
	}
}

// refersTo compares group and kind. A malformed apiVersion, which the API server would refuse,
// refers to nothing.
func refersTo(ref metav1.OwnerReference, kind schema.GroupKind) bool {
	// "v1" is the core group's, which is ""
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		log.RuntimeLog.WithName("handler").Error(err, "An owner reference is left out", "owner",
			ref.Name)
		return false
	}
	return ref.Kind == kind.Kind && version.Group == kind.Group
}

// ownerRequest is for an owner with the given scope. The owner of a namespaced object is in the
// same namespace, or in none; an object without a namespace has owners without one.
func ownerRequest(name, namespace string, scope meta.RESTScopeName) reconcile.Request {
	if scope == meta.RESTScopeNameRoot {
		namespace = ""
	}
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// scopeOf asks the mapper until it has answered once. controller-runtime asks for the version in
// the reference, but that is the one it was written with, and the server may no longer serve it. So
// that version comes second here.
func (o *owners) scopeOf(ref metav1.OwnerReference) meta.RESTScopeName {
	if known, ok := o.scope.Load().(meta.RESTScopeName); ok {
		return known
	}
	mapping, err := o.mapper.RESTMapping(o.owner.GroupKind(), o.owner.Version)
	if err != nil {
		version := ref.APIVersion[strings.LastIndexByte(ref.APIVersion, '/')+1:]
		mapping, err = o.mapper.RESTMapping(o.owner.GroupKind(), version)
	}
	if err != nil {
		log.RuntimeLog.WithName("handler").Error(err,
			"It is not known whether owners of this kind are in a namespace; they are looked "+
				"for in that of the object", "kind", o.owner.GroupKind().String())
		return meta.RESTScopeNameNamespace
	}
	o.scope.Store(mapping.Scope.Name())
	return mapping.Scope.Name()
}
