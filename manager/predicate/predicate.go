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

import "github.com/loopwright/loopwright/manager/event"

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
