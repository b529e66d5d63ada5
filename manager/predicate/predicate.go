// Package predicate decides which events are worth a request.
//
// A source shows each event to its predicates, in order, and drops it when one of them says no. The
// handler gets only events that all of them let through.
//
// A predicate is an optimization, and easy to get wrong. You don't notice an event that it drops by
// mistake: the object just stays as it is until something else happens to it. When in doubt, let
// the event through, because one reconcile too many costs little.
//
// Neighbours: below it are events. Above it are sources, which call predicates, and builders, which
// pass them to sources.
package predicate

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
)

// Predicate is a TypedPredicate of any object.
type Predicate = TypedPredicate[client.Object]

// TypedPredicate has a method for each kind of event. It returns true if the event should be
// handled.
//
// The methods are called on the goroutine that delivers the events, so they must not block. They
// must not change the objects either, because others share them.
//
// A predicate has no effect on the cache: it also holds the objects of dropped events.
type TypedPredicate[object any] interface {
	Create(event.TypedCreateEvent[object]) bool
	Update(event.TypedUpdateEvent[object]) bool
	Delete(event.TypedDeleteEvent[object]) bool
	Generic(event.TypedGenericEvent[object]) bool
}

// Funcs is a TypedFuncs of any object.
type Funcs = TypedFuncs[client.Object]

// TypedFuncs is a TypedPredicate made of functions. An event without a function is let through.
type TypedFuncs[object any] struct {
	CreateFunc  func(event.TypedCreateEvent[object]) bool
	DeleteFunc  func(event.TypedDeleteEvent[object]) bool
	UpdateFunc  func(event.TypedUpdateEvent[object]) bool
	GenericFunc func(event.TypedGenericEvent[object]) bool
}

// Create implements TypedPredicate.
func (f TypedFuncs[object]) Create(e event.TypedCreateEvent[object]) bool {
	return f.CreateFunc == nil || f.CreateFunc(e)
}

// Update implements TypedPredicate.
func (f TypedFuncs[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return f.UpdateFunc == nil || f.UpdateFunc(e)
}

// Delete implements TypedPredicate.
func (f TypedFuncs[object]) Delete(e event.TypedDeleteEvent[object]) bool {
	return f.DeleteFunc == nil || f.DeleteFunc(e)
}

// Generic implements TypedPredicate.
func (f TypedFuncs[object]) Generic(e event.TypedGenericEvent[object]) bool {
	return f.GenericFunc == nil || f.GenericFunc(e)
}

// NewPredicateFuncs is NewTypedPredicateFuncs for any object.
func NewPredicateFuncs(filter func(object client.Object) bool) Funcs {
	return NewTypedPredicateFuncs(filter)
}

// NewTypedPredicateFuncs applies one filter to the object of any event. For an update that's the
// new object. So an update that turns the answer from yes to no is dropped, and the handler doesn't
// learn that the object no longer matches. If that matters, check ObjectOld, too.
func NewTypedPredicateFuncs[object any](filter func(object object) bool) TypedFuncs[object] {
	return TypedFuncs[object]{
		CreateFunc:  func(e event.TypedCreateEvent[object]) bool { return filter(e.Object) },
		UpdateFunc:  func(e event.TypedUpdateEvent[object]) bool { return filter(e.ObjectNew) },
		DeleteFunc:  func(e event.TypedDeleteEvent[object]) bool { return filter(e.Object) },
		GenericFunc: func(e event.TypedGenericEvent[object]) bool { return filter(e.Object) },
	}
}

// LabelSelectorPredicate lets events through if the object's labels match. For an update it looks
// at the new object, as NewPredicateFuncs does. So an object that stops matching goes unnoticed:
// its update is dropped, and so are all later events, even its deletion. If your controller has to
// clean up after such an object, write a Funcs that calls p with both states:
//
//	UpdateFunc: func(e event.UpdateEvent) bool {
//		return p.Update(e) || p.Create(event.CreateEvent{Object: e.ObjectOld})
//	}
//
// Or(p, LabelChangedPredicate{}) works as well. But it also lets every creation and deletion of any
// object through, because LabelChangedPredicate does.
//
// It returns an error if the selector isn't valid.
func LabelSelectorPredicate(s metav1.LabelSelector) (Predicate, error) {
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil, fmt.Errorf("label selector of a predicate: %w", err)
	}
	return selected{selector}, nil
}

type selected struct{ labels.Selector }

func (s selected) Create(e event.CreateEvent) bool   { return s.matches(e.Object) }
func (s selected) Update(e event.UpdateEvent) bool   { return s.matches(e.ObjectNew) }
func (s selected) Delete(e event.DeleteEvent) bool   { return s.matches(e.Object) }
func (s selected) Generic(e event.GenericEvent) bool { return s.matches(e.Object) }

// String is for the flight recorder.
func (s selected) String() string { return "LabelSelectorPredicate(" + s.Selector.String() + ")" }

func (s selected) matches(obj client.Object) bool {
	if event.IsNil(obj) {
		log.RuntimeLog.WithName("predicate").Error(nil,
			"An event without an object is dropped: there are no labels to select by", "selector",
			s.Selector.String())
		return false
	}
	return s.Matches(labels.Set(obj.GetLabels()))
}

// The predicates below let an update through if one thing differs between the old and the new
// object. They let all other events through, unless you set a function of the embedded TypedFuncs.

// GenerationChangedPredicate is a TypedGenerationChangedPredicate of any object.
type GenerationChangedPredicate = TypedGenerationChangedPredicate[client.Object]

// TypedGenerationChangedPredicate drops updates that leave metadata.generation alone. The API
// server increments it when the spec changes, but not when the status or a label does. So a
// controller that writes only the status isn't woken by its own writes.
//
// Caveats: each kind decides what its generation counts. For a custom resource without the status
// subresource it counts status changes, too; for a Deployment, annotations. A ConfigMap has none,
// so all of its updates are dropped. If somebody else overwrites the status, the controller doesn't
// notice.
//
// An object with a finalizer gets a new generation when it's deleted, so that update passes.
type TypedGenerationChangedPredicate[object metav1.Object] struct{ TypedFuncs[object] }

// Update implements TypedPredicate.
func (TypedGenerationChangedPredicate[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return changed("generation", e, func(was, is object) bool {
		return was.GetGeneration() != is.GetGeneration()
	})
}

// ResourceVersionChangedPredicate is a TypedResourceVersionChangedPredicate of any object.
type ResourceVersionChangedPredicate = TypedResourceVersionChangedPredicate[client.Object]

// TypedResourceVersionChangedPredicate drops updates without a write, which come from a resync. All
// others pass, whatever was written.
type TypedResourceVersionChangedPredicate[object metav1.Object] struct{ TypedFuncs[object] }

// Update implements TypedPredicate.
func (TypedResourceVersionChangedPredicate[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return changed("resourceVersion", e, func(was, is object) bool {
		return was.GetResourceVersion() != is.GetResourceVersion()
	})
}

// LabelChangedPredicate is a TypedLabelChangedPredicate of any object.
type LabelChangedPredicate = TypedLabelChangedPredicate[client.Object]

// TypedLabelChangedPredicate drops updates that leave the labels alone. Combine it with a
// GenerationChangedPredicate, which doesn't see labels:
//
//	predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
//
// Neither sees finalizers, owners or the status.
type TypedLabelChangedPredicate[object metav1.Object] struct{ TypedFuncs[object] }

// Update implements TypedPredicate.
func (TypedLabelChangedPredicate[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return changed("labels", e, func(was, is object) bool {
		return !maps.Equal(was.GetLabels(), is.GetLabels())
	})
}

// AnnotationChangedPredicate is a TypedAnnotationChangedPredicate of any object.
type AnnotationChangedPredicate = TypedAnnotationChangedPredicate[client.Object]

// TypedAnnotationChangedPredicate drops updates that leave the annotations alone. Use it like
// LabelChangedPredicate.
type TypedAnnotationChangedPredicate[object metav1.Object] struct{ TypedFuncs[object] }

// Update implements TypedPredicate.
func (TypedAnnotationChangedPredicate[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return changed("annotations", e, func(was, is object) bool {
		return !maps.Equal(was.GetAnnotations(), is.GetAnnotations())
	})
}

// changed compares the two objects of an update. If one is missing, the source has a bug; that's
// logged, and the event is dropped.
func changed[object metav1.Object](
	what string, e event.TypedUpdateEvent[object], differ func(was, is object) bool,
) bool {
	switch {
	case event.IsNil(e.ObjectOld):
		log.RuntimeLog.WithName("predicate").Error(nil,
			"An update event without the old object is dropped: there is nothing to compare with",
			"compared", what, "new", keyOf(e.ObjectNew))
		return false
	case event.IsNil(e.ObjectNew):
		log.RuntimeLog.WithName("predicate").Error(nil,
			"An update event without the new object is dropped: there is nothing to compare",
			"compared", what, "old", keyOf(e.ObjectOld))
		return false
	}
	return differ(e.ObjectOld, e.ObjectNew)
}

// keyOf is for messages.
func keyOf(obj metav1.Object) string {
	if event.IsNil(obj) {
		return "none"
	}
	key := client.ObjectKey{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	return event.KindOf(obj) + " " + key.String()
}
