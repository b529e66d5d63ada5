// Package events has the interfaces of a recorder of events.k8s.io/v1, and a fake one for tests.
//
// A reconciler calls Eventf; the recorder of package recorder writes an Event object, and the fake
// sends a line to a channel. The names are those of client-go's tools/events, so that a user only
// changes the import path. A recorder of client-go fits, too: the methods are the same.
//
// Neighbours: below it are only the API types. Above it is package recorder.
package events

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/internal/anyvalue"
)

// FakeRecorder sends events to a channel, as lines of text: type, reason and note.
//
// Caveats: Eventf blocks while the channel is full. Without a channel, events are dropped.
type FakeRecorder struct {
	// Events is sent to by the recorder and received by the test. It's never closed.
	Events chan string
	// Verbose adds the action, the kinds of the objects, and the annotations.
	Verbose bool
}

// NewFakeRecorder makes a FakeRecorder whose channel has room for this many events.
func NewFakeRecorder(bufferSize int) *FakeRecorder {
	return &FakeRecorder{Events: make(chan string, bufferSize)}
}

// Eventf implements EventRecorder.
func (f *FakeRecorder) Eventf(
	regarding runtime.Object, related runtime.Object,
	eventtype, reason, action, note string, args ...any,
) {
	f.AnnotatedEventf(regarding, related, nil, eventtype, reason, action, note, args...)
}

// AnnotatedEventf implements AnnotatedEventRecorder.
func (f *FakeRecorder) AnnotatedEventf(
	regarding runtime.Object, related runtime.Object, annotations map[string]string,
	eventtype, reason, action, note string, args ...any,
) {
	if f.Events == nil {
		return
	}
	line := eventtype + " " + reason + " "
	if f.Verbose {
		line += action + " "
	}
	line += fmt.Sprintf(note, args...)
	if f.Verbose {
		line += kindOf(regarding) + kindOf(related)
		if len(annotations) > 0 {
			line += fmt.Sprint(" ", annotations)
		}
	}
	f.Events <- line
}

// kindOf is empty for an object without a kind in it, such as one from a typed client.
func kindOf(obj runtime.Object) string {
	if anyvalue.IsNil(obj) {
		return ""
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		return ""
	}
	return fmt.Sprintf(" {kind=%s,apiVersion=%s}", gvk.Kind, gvk.GroupVersion())
}
