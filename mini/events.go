package mini

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/trace"
)

// Predicate returns true if a change matters. If in doubt, return true: a needless
// reconcile costs little, but a change that you filter by mistake is lost.
type Predicate func(Change) bool

// EventHandler turns a change into requests: which objects does it concern?
type EventHandler func(Change) []Request

// Watch passes each change of the informer to handler if all predicates are true, and
// adds the handler's requests to the queue. Call it before Run, which then waits for the
// informer's first list.
func (c *Controller) Watch(
	informer *SharedInformer, handler EventHandler, predicates ...Predicate,
) {
	matters := And(predicates...)
	registration := informer.AddHandler(func(change Change) {
		obj := change.Object()
		e := trace.Event{
			Layer: c.Name, Object: kindName(obj), Version: obj.GetResourceVersion(),
			Namespace: obj.GetNamespace(), Name: obj.GetName(),
		}
		if !matters(change) {
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

// EnqueueObject enqueues the object that has changed.
func EnqueueObject(change Change) []Request { return []Request{KeyOf(change.Object())} }

// EnqueueOwner enqueues the controller of the object that has changed, if the controller
// is of this kind. It compares group and kind but not the version, because an owner
// reference may use another one.
//
// Caveats: it takes the owner to be in the object's namespace. For owners without a
// namespace, use EnqueueMapped.
func EnqueueOwner(kind schema.GroupKind) EventHandler {
	return EnqueueMapped(func(obj Object) []Request {
		ref := metav1.GetControllerOf(obj)
		if ref == nil ||
			schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() != kind {
			return nil
		}
		return []Request{{Namespace: obj.GetNamespace(), Name: ref.Name}}
	})
}

// EnqueueMapped enqueues what toRequests returns for the old state and for the new one.
// It needs both, because a Pod that moves to another owner concerns two owners.
func EnqueueMapped(toRequests func(Object) []Request) EventHandler {
	return func(change Change) (all []Request) {
		for _, obj := range []Object{change.Old, change.New} {
			if obj != nil {
				all = append(all, toRequests(obj)...)
			}
		}
		return all // may have duplicates, which the queue removes
	}
}

// GenerationChanged is true if the spec has changed, and for additions, deletions and
// resyncs. The API server increments the generation when the spec changes, or a
// Deployment's annotations, but not when the status does. Objects without a generation,
// such as ConfigMaps, always pass.
func GenerationChanged(change Change) bool {
	if isWhole(change) || change.New.GetGeneration() == 0 {
		return true
	}
	deleting := func(obj Object) bool { return obj.GetDeletionTimestamp() != nil }
	return change.Old.GetGeneration() != change.New.GetGeneration() ||
		deleting(change.Old) != deleting(change.New)
}

// LabelsChanged is true if the labels have changed, and for additions, deletions and
// resyncs.
func LabelsChanged(change Change) bool {
	return isWhole(change) || !maps.Equal(change.Old.GetLabels(), change.New.GetLabels())
}

// isWhole returns true for an addition, a deletion and a resync. These are about the
// whole object, not about a difference between two states.
func isWhole(change Change) bool {
	return change.Old == nil || change.New == nil ||
		change.Old.GetResourceVersion() == change.New.GetResourceVersion()
}

// And is true if all predicates are.
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

// Or is true if at least one of the predicates is.
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
