// Package record has the older interface of a recorder, with one object and a message, and a fake
// one for tests.
//
// The Event objects belong to the core group; see package recorder. The names are those of
// client-go's tools/record, so that a user only changes the import path. A recorder of client-go
// fits, too: the methods are the same.
//
// Neighbours: below it are only the API types. Above it is package recorder.
package record

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// FakeRecorder sends events to a channel, as lines of text: type, reason and message.
//
// Caveats: Event blocks while the channel is full. Without a channel, events are dropped.
type FakeRecorder struct {
	// Events is sent to by the recorder and received by the test. It's never closed.
	Events chan string
	// IncludeObject adds the object's kind, unless the object is nil.
	IncludeObject bool
}

// NewFakeRecorder makes a FakeRecorder whose channel has room for this many events.
func NewFakeRecorder(bufferSize int) *FakeRecorder {
	return &FakeRecorder{Events: make(chan string, bufferSize)}
}

// Event implements EventRecorder.
func (f *FakeRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	f.write(object, nil, eventtype, reason, message)
}

// Eventf implements EventRecorder.
func (f *FakeRecorder) Eventf(
	object runtime.Object, eventtype, reason, messageFmt string, args ...any,
) {
	f.write(object, nil, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// AnnotatedEventf implements EventRecorder.
func (f *FakeRecorder) AnnotatedEventf(
	object runtime.Object, annotations map[string]string,
	eventtype, reason, messageFmt string, args ...any,
) {
	f.write(object, annotations, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

func (f *FakeRecorder) write(
	object runtime.Object, annotations map[string]string, eventtype, reason, message string,
) {
	if f.Events == nil {
		return
	}
	line := eventtype + " " + reason + " " + message
	if f.IncludeObject && !anyvalue.IsNil(object) {
		gvk := object.GetObjectKind().GroupVersionKind()
		line += fmt.Sprintf(" involvedObject{kind=%s,apiVersion=%s}", gvk.Kind, gvk.GroupVersion())
	}
	if len(annotations) > 0 {
		line += fmt.Sprint(" ", annotations)
	}
	f.Events <- line
}
