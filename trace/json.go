package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// jsonEvent is one event in the JSON form. The names are stable: a field may be
// added, none changes its name or its meaning. Fields that do not apply are
// left out.
type jsonEvent struct {
	Seq         uint64    `json:"seq"`
	Time        time.Time `json:"time"` // RFC 3339 with nanoseconds
	Kind        string    `json:"kind"`
	Outcome     string    `json:"outcome,omitempty"`
	Layer       string    `json:"layer,omitempty"`
	Object      string    `json:"object,omitempty"`
	Namespace   string    `json:"namespace,omitempty"`
	Name        string    `json:"name,omitempty"`
	Version     string    `json:"resourceVersion,omitempty"`
	ToObject    string    `json:"toObject,omitempty"`
	ToNamespace string    `json:"toNamespace,omitempty"`
	ToName      string    `json:"toName,omitempty"`
	Op          string    `json:"op,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Count       int       `json:"count,omitempty"`
	Nanos       int64     `json:"tookNanos,omitempty"`
	Text        string    `json:"text,omitempty"`
}

// WriteJSON writes the events as JSON lines: one object a line, in the order
// given. The fields are
//
//	seq              number of the event: 1, 2, 3, ...
//	time             RFC 3339 with nanoseconds; started is Recorder.Started
//	kind, outcome    the names that Kind and Outcome print
//	layer            who recorded it
//	object, namespace, name, resourceVersion
//	toObject, toNamespace, toName
//	                 the request that a handler made
//	op, reason, count
//	tookNanos        a duration in nanoseconds
//	text             the sentence of a Timeline
//
// and all but seq, time and kind are left out when they are empty.
func WriteJSON(w io.Writer, started time.Time, events []Event) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		err := enc.Encode(jsonEvent{
			Seq: e.Seq, Time: started.Add(e.At), Kind: e.Kind.String(), Outcome: e.Outcome.String(),
			Layer: e.Layer, Object: e.Object,
			Namespace: e.Namespace, Name: e.Name, Version: e.Version,
			ToObject: e.ToObject, ToNamespace: e.ToNamespace, ToName: e.ToName,
			Op: e.Op, Reason: e.Reason, Count: e.Count, Nanos: int64(e.Took),
			Text: narrate(e),
		})
		if err != nil {
			return fmt.Errorf("writing trace event %d as JSON: %w", e.Seq, err)
		}
	}
	return nil
}
