// Package recorder writes Events: objects that tell people, in kubectl describe, what a controller
// did and why something fails.
//
// A reconciler calls Eventf and goes on. The event waits in the Writer's correlator, which only
// counts it if it repeats an earlier one. The Writer's loop creates the Event objects and updates
// their counts, those of different namespaces at the same time.
//
// Neighbours: below it are events and record, with the interfaces that users hold. Above it is the
// manager, which makes one Writer, runs it, and stops it after everything that could record an
// event.
package recorder

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	// GetEventRecorderFor returns a recorder with the older methods, which writes to the core
	// group. Any name will do.
	GetEventRecorderFor(name string) record.EventRecorder
	// GetEventRecorder returns a recorder that writes to the group events.k8s.io, and reports as
	// the controller with this name, which must be a qualified name, such as "website-controller"
	// or "example.com/website-controller".
	GetEventRecorder(name string) EventRecorder
}

// currentRecorder has the methods of the events.k8s.io API.
type currentRecorder struct {
	writer *Writer
	by     reporter
}

var _ EventRecorder = (*currentRecorder)(nil)

// Eventf implements events.EventRecorder.
func (r *currentRecorder) Eventf(
	regarding runtime.Object, related runtime.Object,
	eventtype, reason, action, note string, args ...any,
) {
	r.AnnotatedEventf(regarding, related, nil, eventtype, reason, action, note, args...)
}

// AnnotatedEventf implements events.AnnotatedEventRecorder.
func (r *currentRecorder) AnnotatedEventf(
	regarding runtime.Object, related runtime.Object, annotations map[string]string,
	eventtype, reason, action, note string, args ...any,
) {
	r.writer.record(r.by, eventCall{
		regarding: regarding, related: related, annotations: annotations,
		eventType: eventtype, reason: reason, action: action, note: fmt.Sprintf(note, args...),
	})
}

// olderRecorder has the methods of the core group's API, which have no action.
type olderRecorder struct {
	writer *Writer
	by     reporter
}

var _ record.EventRecorder = (*olderRecorder)(nil)

// Event implements record.EventRecorder.
func (r *olderRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	r.write(object, nil, eventtype, reason, message)
}

// Eventf implements record.EventRecorder.
func (r *olderRecorder) Eventf(
	object runtime.Object, eventtype, reason, messageFmt string, args ...any,
) {
	r.write(object, nil, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r *olderRecorder) AnnotatedEventf(
	object runtime.Object, annotations map[string]string,
	eventtype, reason, messageFmt string, args ...any,
) {
	r.write(object, annotations, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

func (r *olderRecorder) write(
	object runtime.Object, annotations map[string]string, eventtype, reason, message string,
) {
	r.writer.record(r.by, eventCall{
		regarding: object, annotations: annotations,
		eventType: eventtype, reason: reason, note: message,
	})
}

// api is one of the two APIs that can write an Event, and their differences. RBAC allows them
// separately, so each recorder uses the API that its methods belong to.
type api struct {
	version   schema.GroupVersion
	path      string // of the API on the server
	noteLimit int
	// atOnce is how many occurrences are written when they happen; later ones are counted, and the
	// count is written every refreshEvery.
	atOnce int
	// shared is true if this isn't for each series but for all that are about one object and have
	// one type.
	shared bool
	// goesOn is true if a series continues after a pause of any length.
	goesOn bool

	// body is the event to create, and patch is the change to it when it has happened again.
	body  func(*eventsv1.Event) runtime.Object
	patch func(*eventsv1.Event) map[string]any
}

// currentAPI is events.k8s.io/v1. Each write of a series sets its time; no other field of the Event
// may change.
var currentAPI = &api{
	version:   eventsv1.SchemeGroupVersion,
	path:      "/apis",
	noteLimit: noteLimit,
	atOnce:    2,
	body:      func(event *eventsv1.Event) runtime.Object { return event },
	patch: func(event *eventsv1.Event) map[string]any {
		return map[string]any{"series": event.Series}
	},
}

// olderAPI is the core group's, which has a count instead of a series. The numbers are
// client-go's: 25 occurrences about an object, and then one in 5 minutes.
var olderAPI = &api{
	version:   corev1.SchemeGroupVersion,
	path:      "/api",
	noteLimit: math.MaxInt,
	atOnce:    25,
	shared:    true,
	goesOn:    true,
	body:      func(event *eventsv1.Event) runtime.Object { return older(event) },
	patch: func(event *eventsv1.Event) map[string]any {
		e := older(event)
		return map[string]any{
			"count": e.Count, "lastTimestamp": e.LastTimestamp, "message": e.Message,
		}
	},
}

func older(event *eventsv1.Event) *corev1.Event {
	e := &corev1.Event{
		ObjectMeta:          event.ObjectMeta,
		InvolvedObject:      event.Regarding,
		Type:                event.Type,
		Reason:              event.Reason,
		Message:             event.Note,
		FirstTimestamp:      metav1.NewTime(event.EventTime.Time),
		LastTimestamp:       metav1.NewTime(event.EventTime.Time),
		Count:               1,
		Source:              corev1.EventSource{Component: event.ReportingController},
		ReportingController: event.ReportingController,
	}
	if event.Series != nil {
		e.Count = event.Series.Count
		e.LastTimestamp = metav1.NewTime(event.Series.LastObservedTime.Time)
	}
	return e
}
