// Package event is what happened to an object, as sources report it.
//
// An informer's notification becomes an event; predicates look at it and may drop it; a handler
// turns it into requests. The event ends there: a request is only a name, so that many events of
// one object become one piece of work.
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

// CreateEvent says that there is an object that was not there before, as far as the source knows.
// It may be much older than the event: after a start, all objects are new.
type CreateEvent struct {
	Object client.Object
	// IsInInitialList is true for an object of the source's first list. There may be thousands of
	// these at once, and most of them need nothing.
	IsInInitialList bool
}

// UpdateEvent says that an object was seen in another state than before. States in between may
// have been missed, so the difference between the two is not always one change. In a resync, both
// are the same.
type UpdateEvent struct {
	ObjectOld client.Object
	ObjectNew client.Object
}

// DeleteEvent says that an object is gone.
type DeleteEvent struct {
	// Object is its last state.
	Object client.Object
	// DeleteStateUnknown is true if the watch missed the end of the object: then Object is the last
	// state that was seen, and not the one in which it was deleted.
	DeleteStateUnknown bool
}

// GenericEvent says that an object needs a look, and comes from somewhere else than a watch: a
// timer, a webhook, another system.
type GenericEvent struct {
	Object client.Object
}

// IsNil reports whether an event lacks an object. In Go, a nil *Pod in an interface is not equal
// to nil, and calling its methods panics.
func IsNil(obj client.Object) bool { return anyvalue.IsNil(obj) }

// KindOf returns the kind of an object, for people to read, such as "Pod". It is empty if the
// object does not know it.
//
// A typed object is called by its Go type, because not every source sets the kind: an API server's
// list leaves it out of the items, and it is the cache that puts it back.
func KindOf(obj client.Object) string {
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
