package mini

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/trace"
)

// Predicate says whether a change matters. Some changes pass none: write predicates
// that are true when in doubt, because one reconcile too many does no harm, and one too
// few does.
type Predicate func(Change) bool

// EventHandler turns a change into requests: who has to look at it?
type EventHandler func(Change) []Request

// Watch adds to the controller's queue the requests that handler makes of each change
// that passes all predicates. Call it before Run: the controller then waits for the
// informer.
func (c *Controller) Watch(
	informer *SharedInformer, handler EventHandler, predicates ...Predicate,
) {
	registration := informer.AddHandler(func(change Change) {
		obj := change.Object()
		e := trace.Event{
			Layer: c.Name, Object: kindName(obj), Namespace: obj.GetNamespace(), Name: obj.GetName(),
			Version: obj.GetResourceVersion(),
		}
		if !And(predicates...)(change) {
			e.Kind, e.Outcome = trace.Predicate, trace.Filtered
			c.Trace.Record(e)
			return
		}
		for _, req := range handler(change) {
			e.Kind, e.ToNamespace, e.ToName = trace.Handler, req.Namespace, req.Name
			c.Trace.Record(e)
			c.Queue.Add(req)
		}
	})
	c.WaitFor = append(c.WaitFor, registration.WaitForSync)
}

// EnqueueObject asks for the object itself.
func EnqueueObject(change Change) []Request { return []Request{KeyOf(change.Object())} }

// EnqueueOwner asks for the object of this kind that controls the changed one. If the
// change moved it from one owner to another, it asks for both.
func EnqueueOwner(kind schema.GroupKind) EventHandler {
	return EnqueueMapped(func(obj Object) []Request {
		ref := metav1.GetControllerOf(obj)
		if ref == nil || schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != kind {
			return nil
		}
		return []Request{{Namespace: obj.GetNamespace(), Name: ref.Name}}
	})
}

// EnqueueMapped asks for what toRequests returns for the old state and for the new one:
// a Pod that loses a label concerns the Service that it leaves.
func EnqueueMapped(toRequests func(Object) []Request) EventHandler {
	return func(change Change) []Request {
		var all []Request
		if change.Old != nil {
			all = toRequests(change.Old)
		}
		if change.New != nil {
			all = append(all, toRequests(change.New)...)
		}
		return all // the queue deduplicates
	}
}

// GenerationChanged is true if the spec has changed, and for additions and deletions. The
// generation does not grow with changes of the status, of labels or of annotations.
func GenerationChanged(change Change) bool {
	return change.Old == nil || change.New == nil || isResync(change) ||
		change.Old.GetGeneration() != change.New.GetGeneration() ||
		(change.Old.GetDeletionTimestamp() == nil) != (change.New.GetDeletionTimestamp() == nil)
}

// LabelsChanged is true if labels have changed, and for additions and deletions.
func LabelsChanged(change Change) bool {
	return change.Old == nil || change.New == nil || isResync(change) ||
		!maps.Equal(change.Old.GetLabels(), change.New.GetLabels())
}

// isResync: the informer tells of the same state again, because somebody asked for that.
func isResync(change Change) bool {
	return change.Old.GetResourceVersion() == change.New.GetResourceVersion()
}

// And is true if all are.
func And(predicates ...Predicate) Predicate {
	return func(change Change) bool {
		for _, p := range predicates {
			if !p(change) {
				return false
			}
		}
		return true
	}
}

// Or is true if one is.
func Or(predicates ...Predicate) Predicate {
	return func(change Change) bool {
		for _, p := range predicates {
			if p(change) {
				return true
			}
		}
		return false
	}
}
