package recorder

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// api is one of the two APIs by which an Event can be written, and what is different there. A role allows them
// separately, so that each recorder uses the one that its methods belong to.
type api struct {
	version   schema.GroupVersion
	path      string // of the server
	noteLimit int
	// atOnce is how many occurrences are written when they happen; the count of later ones is written at intervals.
	atOnce int32
	// goesOn says that a series continues after a pause of any length.
	goesOn bool

	// body is the event as it is created, and patch what is changed in it when it has happened again.
	body  func(*eventsv1.Event) runtime.Object
	patch func(*eventsv1.Event) map[string]any
}

// currentAPI is events.k8s.io/v1. An Event with a series has the time of each write in it, and nothing else of it may change.
var currentAPI = &api{
	version:   eventsv1.SchemeGroupVersion,
	path:      "/apis",
	noteLimit: noteLimit,
	atOnce:    2,
	body:      func(event *eventsv1.Event) runtime.Object { return event },
	patch:     func(event *eventsv1.Event) map[string]any { return map[string]any{"series": event.Series} },
}

// olderAPI is the core group's, which has a count in the place of a series. The numbers are client-go's: 25
// occurrences, and then one in 5 minutes.
var olderAPI = &api{
	version:   corev1.SchemeGroupVersion,
	path:      "/api",
	noteLimit: math.MaxInt,
	atOnce:    25,
	goesOn:    true,
	body:      func(event *eventsv1.Event) runtime.Object { return older(event) },
	patch: func(event *eventsv1.Event) map[string]any {
		e := older(event)
		return map[string]any{"count": e.Count, "lastTimestamp": e.LastTimestamp, "message": e.Message}
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
		e.Count, e.LastTimestamp = event.Series.Count, metav1.NewTime(event.Series.LastObservedTime.Time)
	}
	return e
}
