// Package recorder writes Events: objects that tell people, in kubectl describe, what a controller did
// and why something fails.
//
// A reconciler calls Eventf and goes on. The event waits in the Writer's book, where the same event
// again only counts; the Writer's one loop creates the Event objects and brings their counts up to
// date.
//
// Neighbours: below it are events and record, with the interfaces that users hold. Above it is the
// manager, which makes one Writer, runs it, and stops it when all that could record an event has ended.
package recorder

import (
	"github.com/loopwright/loopwright/manager/recorder/events"
	"github.com/loopwright/loopwright/manager/recorder/record"
)

// EventRecorder records events, with annotations or without.
type EventRecorder interface {
	events.EventRecorder
	events.AnnotatedEventRecorder
}

// Provider makes recorders for the controllers of a program. A manager is one.
type Provider interface {
	// GetEventRecorderFor returns a recorder with the older methods, which writes to the core group. The name may be any.
	GetEventRecorderFor(name string) record.EventRecorder
	// GetEventRecorder returns a recorder that writes to the group events.k8s.io, and reports as the controller with this name, which is a
	// qualified name, such as "website-controller" or "example.com/website-controller".
	GetEventRecorder(name string) EventRecorder
}
