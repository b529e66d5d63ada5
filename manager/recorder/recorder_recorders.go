package recorder

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/recorder/record"
)

// currentRecorder has the methods of the events.k8s.io API.
type currentRecorder struct {
	writer *Writer
	by     reporter
}

var _ EventRecorder = (*currentRecorder)(nil)

// Eventf implements events.EventRecorder.
func (r *currentRecorder) Eventf(regarding runtime.Object, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	r.AnnotatedEventf(regarding, related, nil, eventtype, reason, action, note, args...)
}

// AnnotatedEventf implements events.AnnotatedEventRecorder.
func (r *currentRecorder) AnnotatedEventf(regarding runtime.Object, related runtime.Object, annotations map[string]string, eventtype, reason, action, note string, args ...any) {
	r.writer.record(r.by, said{
		regarding: regarding, related: related, annotations: annotations,
		eventType: eventtype, reason: reason, action: action, note: fmt.Sprintf(note, args...),
	})
}

// olderRecorder has the methods of the core group's API, which names no action.
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
func (r *olderRecorder) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any) {
	r.write(object, nil, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (r *olderRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...any) {
	r.write(object, annotations, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}

func (r *olderRecorder) write(object runtime.Object, annotations map[string]string, eventtype, reason, message string) {
	r.writer.record(r.by, said{
		regarding: object, annotations: annotations, eventType: eventtype, reason: reason, note: message,
	})
}
