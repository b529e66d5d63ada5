package workqueue

import (
	"fmt"

	"github.com/loopwright/loopwright/trace"
)

// The queue writes to the flight recorder while its lock is held, so that the timeline
// shows things in the order in which they happened. The recorder calls nothing itself.
// Only Options.Key, or the item's String method, is the user's code. Callers check
// Recorder.On first.

func (q *Queue[T]) recordAdd(item T, verdict verdict, causes Causes) {
	event := trace.Event{Kind: trace.Enqueue, Reason: causes.String(), Count: causes.Count}
	switch verdict {
	case merged:
		event.Outcome = trace.Deduplicated
	case deferred:
		event.Outcome = trace.Deferred
	}
	q.record(item, event)
}

// record fills in what is the same for all events of this layer.
func (q *Queue[T]) record(item T, event trace.Event) {
	event.Layer, event.Object = q.layer(), q.options.Kind
	if q.options.Key != nil {
		event.Namespace, event.Name = q.options.Key(item)
	} else {
		event.Name = fmt.Sprint(item)
	}
	q.options.Recorder.Record(event)
}

func (q *Queue[T]) layer() string {
	if q.options.Name == "" {
		return "queue"
	}
	return q.options.Name
}
