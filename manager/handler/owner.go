package handler

import (
	"context"
	"fmt"
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
type OwnerOption func(*ownerHandler)

// OnlyControllerOwner looks only at the one owner reference that has controller: true.
func OnlyControllerOwner() OwnerOption {
	return func(h *ownerHandler) { h.onlyController = true }
}

// EnqueueRequestForOwner asks for the owners of the object that have the kind of ownerType. Owners
// are compared by group and kind: a reference keeps the version with which it was written, and the
// owner is the same object in all versions. Of an update, it asks for the owners before and after.
//
// It panics if the scheme does not know exactly one kind for ownerType, as controller-runtime's
// does. A program has this wrong from its start, or never.
//
// The mapper says whether owners of the kind have a namespace; once it has answered it is not
// asked again, so a CRD that comes back with another scope needs a restart. While it cannot answer,
// owners are looked for in the object's namespace, where most are, and this is logged.
// controller-runtime drops the event then, for the other owners, too.
func EnqueueRequestForOwner(
	scheme *runtime.Scheme, mapper meta.RESTMapper, ownerType client.Object, opts ...OwnerOption,
) EventHandler {
	kind, err := kindIn(scheme, ownerType)
	if err != nil {
		panic(fmt.Errorf("handler.EnqueueRequestForOwner: %w", err))
	}
	h := &ownerHandler{owner: kind, mapper: mapper}
	for _, opt := range opts {
		opt(h)
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
			fmt.Errorf("the kind of the owner is not known, was its AddToScheme called? %w", err)
	}
	if len(kinds) != 1 {
		return schema.GroupVersionKind{},
			fmt.Errorf("the scheme has %d kinds for the owner type %T, and it has to be one: %v",
				len(kinds), obj, kinds)
	}
	return kinds[0], nil
}

type ownerHandler struct {
	owner          schema.GroupVersionKind
	onlyController bool
	mapper         meta.RESTMapper
	scope          atomic.Value // a meta.RESTScopeName, when the mapper has answered
}

func (h *ownerHandler) Create(
	_ context.Context, e event.CreateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofCreate(e))
}

func (h *ownerHandler) Update(
	_ context.Context, e event.UpdateEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofUpdate(e))
}

func (h *ownerHandler) Delete(
	_ context.Context, e event.DeleteEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofDelete(e))
}

func (h *ownerHandler) Generic(
	_ context.Context, e event.GenericEvent,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	h.enqueue(queue, ofGeneric(e))
}

// String is the handler's name in the flight recorder.
func (h *ownerHandler) String() string {
	return "EnqueueRequestForOwner(" + h.owner.GroupKind().String() + ")"
}

func (h *ownerHandler) enqueue(queue requestQueue, c cause) {
	var requests []reconcile.Request
	for _, obj := range []client.Object{c.older, c.object} {
		if obj == nil {
			continue
		}
		for ref := range ownersOf(obj, h.owner.GroupKind(), h.onlyController) {
			request := ownerRequest(ref.Name, obj.GetNamespace(), h.scopeOf(ref))
			if !slices.Contains(requests, request) {
				requests = append(requests, request)
			}
		}
	}
	enqueue(queue, c.opts(", through its owner"), requests...)
}

// ownersOf are the references to owners of a kind.
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

// refersTo compares group and kind. A malformed apiVersion, which the API server does not let in,
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

// ownerRequest is for an owner of the given scope. The owner of an object in a namespace is in the
// same one, or in none; an object in no namespace has owners in none.
func ownerRequest(name, namespace string, scope meta.RESTScopeName) reconcile.Request {
	if scope == meta.RESTScopeNameRoot {
		namespace = ""
	}
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// scopeOf asks the mapper until it has answered once. The version of the reference, which
// controller-runtime asks for, may no longer be served: it is the one with which the reference was
// written. So it comes second.
func (h *ownerHandler) scopeOf(ref metav1.OwnerReference) meta.RESTScopeName {
	if known, ok := h.scope.Load().(meta.RESTScopeName); ok {
		return known
	}
	mapping, err := h.mapper.RESTMapping(h.owner.GroupKind(), h.owner.Version)
	if err != nil {
		version := ref.APIVersion[strings.LastIndexByte(ref.APIVersion, '/')+1:]
		mapping, err = h.mapper.RESTMapping(h.owner.GroupKind(), version)
	}
	if err != nil {
		log.RuntimeLog.WithName("handler").Error(err,
			"It is not known whether owners of this kind are in a namespace; they are looked "+
				"for in that of the object", "kind", h.owner.GroupKind().String())
		return meta.RESTScopeNameNamespace
	}
	h.scope.Store(mapping.Scope.Name())
	return mapping.Scope.Name()
}
