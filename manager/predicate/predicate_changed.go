package predicate

import (
	"maps"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/event"
	"github.com/loopwright/loopwright/manager/log"
)

// The predicates of this file let an update through if one thing differs between the old and the
// new object. They let all other events through; Funcs is embedded to say otherwise.

// GenerationChangedPredicate drops updates that leave metadata.generation as it is. The API server
// counts it up when the spec changes, and not for a status or a label, so a controller that
// writes only the status is not woken by its own writes.
//
// Caveats: what the generation counts is up to the kind. For a custom resource without the status
// subresource it counts status changes, too; for a Deployment, annotations; and a ConfigMap has none
// at all, so that all of its updates are dropped. If somebody else overwrites the status, the
// controller does not hear of it.
//
// An object that is deleted while it has a finalizer gets a new generation. So its update passes.
type GenerationChangedPredicate struct{ Funcs }

// Update implements Predicate.
func (GenerationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("generation", e, func(was, is client.Object) bool { return was.GetGeneration() != is.GetGeneration() })
}

// ResourceVersionChangedPredicate drops updates by which nothing was written: those of a resync.
// All others pass, whatever was written.
type ResourceVersionChangedPredicate struct{ Funcs }

// Update implements Predicate.
func (ResourceVersionChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("resourceVersion", e, func(was, is client.Object) bool { return was.GetResourceVersion() != is.GetResourceVersion() })
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
	return changed("labels", e, func(was, is client.Object) bool { return !maps.Equal(was.GetLabels(), is.GetLabels()) })
}

// AnnotationChangedPredicate drops updates that leave the annotations as they are. It is used like
// LabelChangedPredicate.
type AnnotationChangedPredicate struct{ Funcs }

// Update implements Predicate.
func (AnnotationChangedPredicate) Update(e event.UpdateEvent) bool {
	return changed("annotations", e, func(was, is client.Object) bool { return !maps.Equal(was.GetAnnotations(), is.GetAnnotations()) })
}

// changed compares the two objects of an update. If one is missing, the source has a bug: this is
// logged, and the event is dropped.
func changed(what string, e event.UpdateEvent, differ func(was, is client.Object) bool) bool {
	switch {
	case event.IsNil(e.ObjectOld):
		log.RuntimeLog.WithName("predicate").Error(nil, "An update event without the old object is dropped: there is nothing to compare with", "compared", what, "new", keyOf(e.ObjectNew))
		return false
	case event.IsNil(e.ObjectNew):
		log.RuntimeLog.WithName("predicate").Error(nil, "An update event without the new object is dropped: there is nothing to compare", "compared", what, "old", keyOf(e.ObjectOld))
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
