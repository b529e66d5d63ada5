// Package predicate decides which events are worth a request.
//
// A source shows each event to its predicates, in order, and drops it when one of them says no.
// Only what all of them let through reaches the handler.
//
// A predicate is an optimization, and easy to get wrong. Nobody notices an event that it drops
// wrongly; the object just stays as it is until something else happens to it. When in doubt, let
// the event through: one look too many costs little.
//
// Neighbours: below it are events. Above it are sources, which ask predicates, and builders, which
// hand them to sources.
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

// Predicate has a method for each kind of event. It returns true if the event is to be handled:
//
//	Create(event.CreateEvent) bool
//	Update(event.UpdateEvent) bool
//	Delete(event.DeleteEvent) bool
//	Generic(event.GenericEvent) bool
//
// It is called from the goroutine that brings the events, so it must not wait for anything, and
// it must not change the objects, which others share.
//
// It says nothing about what the cache holds: the objects of dropped events are there, too.
type Predicate = predicateOf[event.CreateEvent]

// predicateOf has a type parameter only so that And can find out a type argument; see logic.
type predicateOf[create any] interface {
	Create(create) bool
	Update(event.UpdateEvent) bool
	Delete(event.DeleteEvent) bool
	Generic(event.GenericEvent) bool
}

// Funcs is a Predicate of functions. An event without a function is let through.
type Funcs struct {
	CreateFunc  func(event.CreateEvent) bool
	DeleteFunc  func(event.DeleteEvent) bool
	UpdateFunc  func(event.UpdateEvent) bool
	GenericFunc func(event.GenericEvent) bool
}

// Create implements Predicate.
func (f Funcs) Create(e event.CreateEvent) bool { return f.CreateFunc == nil || f.CreateFunc(e) }

// Update implements Predicate.
func (f Funcs) Update(e event.UpdateEvent) bool { return f.UpdateFunc == nil || f.UpdateFunc(e) }

// Delete implements Predicate.
func (f Funcs) Delete(e event.DeleteEvent) bool { return f.DeleteFunc == nil || f.DeleteFunc(e) }

// Generic implements Predicate.
func (f Funcs) Generic(e event.GenericEvent) bool {
	return f.GenericFunc == nil || f.GenericFunc(e)
}

// NewPredicateFuncs asks one question about the object of any event. Of an update it is the new
// object. So an update that turns the answer from yes to no is dropped, and the handler does not
// learn that the object no longer matches; if that matters, ask about ObjectOld, too.
func NewPredicateFuncs(filter func(object client.Object) bool) Funcs {
	return Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return filter(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return filter(e.ObjectNew) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return filter(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return filter(e.Object) },
	}
}

// LabelSelectorPredicate lets events of objects through whose labels match. Of an update it looks
// at the new object, as NewPredicateFuncs does. So an object that stops matching goes unnoticed:
// its update is dropped, and so are all events after it, even its end. A controller that has to
// clean up after such an object needs a Funcs that asks p about both states:
//
//	UpdateFunc: func(e event.UpdateEvent) bool {
//		return p.Update(e) || p.Create(event.CreateEvent{Object: e.ObjectOld})
//	}
//
// Or(p, LabelChangedPredicate{}) does it as well. But it also passes every creation and deletion,
// of whatever object, because LabelChangedPredicate does.
//
// The error is about a selector that is not valid.
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

// The predicates of this file let an update through if one thing differs between the old and the
// new object. They let all other events through; Funcs is embedded to say otherwise.

// GenerationChangedPredicate drops updates that leave metadata.generation as it is. The API server
// counts it up when the spec changes, and not for a status or a label, so a controller that
// writes only the status is not woken by its own writes.
//
// Caveats: what the generation counts is up to the kind. For a custom resource without the status
// subresource it counts status changes, too; for a Deployment, annotations; and a ConfigMap has
// none at all, so that all of its updates are dropped. If somebody else overwrites the status, the
// controller does not hear of it.
//
// An object that is deleted while it has a finalizer gets a new generation. So its update passes.
type GenerationChangedPredicate struct{ Funcs }

// Update implements Predicate.
func (GenerationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("generation", e, func(was, is client.Object) bool {
		return was.GetGeneration() != is.GetGeneration()
	})
}

// ResourceVersionChangedPredicate drops updates by which nothing was written: those of a resync.
// All others pass, whatever was written.
type ResourceVersionChangedPredicate struct{ Funcs }

// Update implements Predicate.
func (ResourceVersionChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("resourceVersion", e, func(was, is client.Object) bool {
		return was.GetResourceVersion() != is.GetResourceVersion()
	})
}

// LabelChangedPredicate drops updates that leave the labels as they are. With Or it completes a
// GenerationChangedPredicate, which does not see labels:
//
//	predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{})
//
// Finalizers, owners and the status are in neither.
type LabelChangedPredicate struct{ Funcs }

// Update implements Predicate.
func (LabelChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("labels", e, func(was, is client.Object) bool {
		return !maps.Equal(was.GetLabels(), is.GetLabels())
	})
}

// AnnotationChangedPredicate drops updates that leave the annotations as they are. It is used like
// LabelChangedPredicate.
type AnnotationChangedPredicate struct{ Funcs }

// Update implements Predicate.
func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool {
		return !maps.Equal(was.GetAnnotations(), is.GetAnnotations())
	})
}

// changed compares the two objects of an update. If one is missing, the source has a bug: this is
// logged, and the event is dropped.
func changed(what string, e event.UpdateEvent, differ func(was, is client.Object) bool) bool {
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
func keyOf(obj client.Object) string {
	if event.IsNil(obj) {
		return "none"
	}
	return event.KindOf(obj) + " " + client.ObjectKeyFromObject(obj).String()
}
