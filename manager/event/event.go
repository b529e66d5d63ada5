// Package event has the events that sources report: what happened to an object.
//
// An informer's notification becomes an event, predicates may drop it, and a handler turns it into
// requests. The event ends there: a request is only a name, which is why many events of one object
// become one piece of work.
//
// Neighbours: below it is the client, for the type of objects. Above it are predicates, handlers
// and sources.
package event

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/loopwright/loopwright/manager/client"
	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// CreateEvent is a TypedCreateEvent of any object.
type CreateEvent = TypedCreateEvent[client.Object]

// TypedCreateEvent reports an object that didn't exist before, as far as the source knows. It may
// be much older than the event: after a start, all objects are new.
type TypedCreateEvent[object any] struct {
	Object object
	// IsInInitialList is true for an object in the source's first list. There may be thousands of
	// these at once, and most of them need no work.
	IsInInitialList bool
}

// UpdateEvent is a TypedUpdateEvent of any object.
type UpdateEvent = TypedUpdateEvent[client.Object]

// TypedUpdateEvent reports an object in a different state than before. The source may have missed
// states in between, so the difference isn't always a single change. In a resync, both states are
// the same.
type TypedUpdateEvent[object any] struct {
	ObjectOld object
	ObjectNew object
}

// DeleteEvent is a TypedDeleteEvent of any object.
type DeleteEvent = TypedDeleteEvent[client.Object]

// TypedDeleteEvent reports that an object was deleted.
type TypedDeleteEvent[object any] struct {
	// Object is its last state.
	Object object
	// DeleteStateUnknown is true if the watch missed the deletion. Object is then the last state
	// that was seen, not the one in which it was deleted.
	DeleteStateUnknown bool
}

// GenericEvent is a TypedGenericEvent of any object.
type GenericEvent = TypedGenericEvent[client.Object]

// TypedGenericEvent says that an object needs to be reconciled for a reason other than a watch: a
// timer, a webhook, another system.
type TypedGenericEvent[object any] struct {
	Object object
}

// IsNil reports whether an event lacks an object. In Go, a nil *Pod in an interface isn't equal to
// nil, and calling its methods panics.
func IsNil(obj any) bool { return anyvalue.IsNil(obj) }

// KindOf returns the kind of an object, such as "Pod", for people to read. It's empty if the object
// doesn't know its kind, or if there's no object.
//
// For a typed object it's the name of the Go type, because not every source sets the kind: the API
// server leaves it out of a list's items, and the cache puts it back.
func KindOf(obj any) string {
	if IsNil(obj) {
		return ""
	}
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return obj.GetKind()
	case *metav1.PartialObjectMetadata:
		return obj.Kind
	}
	t := reflect.TypeOf(obj)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
