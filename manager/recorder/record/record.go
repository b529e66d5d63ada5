// Package record has the older interface of a recorder, with one object and a message, and a fake one
// for tests.
//
// What is recorded becomes an Event of the core group; see package recorder. The names are those of client-go's
// tools/record, so that a user only changes the import path. A recorder of client-go fits, too: the methods are
// the same.
//
// Neighbours: below it are only the API types. Above it is package recorder.
package record

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// EventRecorder records that something happened to an object.
//
// It is an alias of an interface without a name, so that a package that comes before this one can have it in
// an interface of its own; see leaderelection.EventRecorderProvider.
type EventRecorder = interface {
	// Event records an event about the object. eventtype is Normal or Warning. reason says why, in
	// one word in CamelCase. The message is for people.
	Event(object runtime.Object, eventtype, reason, message string)
	// Eventf is Event with a message made as by fmt.Sprintf.
	Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any)
	// AnnotatedEventf is Eventf with annotations for the Event object.
	AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any)
}

// FakeRecorder writes events into a channel, as lines of text: type, reason and message.
//
// Caveats: Event waits while the channel is full. Without a channel, events are thrown away.
type FakeRecorder struct {
	// Events is written by the recorder and read by the test. Nobody closes it.
	Events chan string
	// IncludeObject adds the object's kind.
	IncludeObject bool
}

// NewFakeRecorder makes a FakeRecorder with room for so many events.
func NewFakeRecorder(bufferSize int) *FakeRecorder {
	return &FakeRecorder{Events: make(chan string, bufferSize)}
}

// Event implements EventRecorder.
func (f *FakeRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	f.write(object, nil, eventtype, reason, message)
}

// Eventf implements EventRecorder.
func (f *FakeRecorder) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	f.write(object, nil, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// AnnotatedEventf implements EventRecorder.
func (f *FakeRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any) {
	f.write(object, annotations, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

func (f *FakeRecorder) write(object runtime.Object, annotations map[string]string, eventtype, reason, message string) {
	if f.Events == nil {
		return
	}
	line := eventtype + " " + reason + " " + message
	if f.IncludeObject {
		gvk := object.GetObjectKind().GroupVersionKind()
		line += fmt.Sprintf(" involvedObject{kind=%s,apiVersion=%s}", gvk.Kind, gvk.GroupVersion())
	}
	if len(annotations) > 0 {
		line += fmt.Sprint(" ", annotations)
	}
	f.Events <- line
}
