package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// jsonEvent is one event in the JSON form. The names are stable: fields may be added, but none
// changes its name or its meaning. Fields that don't apply are left out.
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
	enc := newEncoder(w)
	for _, e := range events {
		if err := enc.Encode(jsonOf(started, e)); err != nil {
			return fmt.Errorf("writing trace event %d as JSON: %w", e.Seq, err)
		}
	}
	return nil
}

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

func jsonOf(started time.Time, e Event) jsonEvent {
	return jsonEvent{
		Seq: e.Seq, Time: started.Add(e.At), Kind: e.Kind.String(), Outcome: e.Outcome.String(),
		Layer: e.Layer, Object: e.Object,
		Namespace: e.Namespace, Name: e.Name, Version: e.Version,
		ToObject: e.ToObject, ToNamespace: e.ToNamespace, ToName: e.ToName,
		Op: e.Op, Reason: e.Reason, Count: e.Count, Nanos: int64(e.Took),
		Text: narrate(e),
	}
}

// jsonState is a line among the events. It has their first three fields, so readers that want only
// events can skip it by its kind.
type jsonState struct {
	Seq    uint64         `json:"seq"`
	Time   time.Time      `json:"time"`
	Kind   string         `json:"kind"`
	Events []jsonEvent    `json:"events"`
	Caches []jsonCache    `json:"caches"`
	Counts []jsonCount    `json:"counts"`
	Beyond map[string]int `json:"beyond,omitempty"`
}

type jsonCache struct {
	Object  string `json:"object"`
	Version string `json:"resourceVersion,omitempty"`
	Count   int    `json:"count"`

	Reported bool `json:"reported,omitempty"`
}

type jsonCount struct {
	Kind    string `json:"kind"`
	Outcome string `json:"outcome,omitempty"`
	Layer   string `json:"layer,omitempty"`
	Object  string `json:"object,omitempty"`
	Count   int    `json:"count"`
}

// WriteState writes a state as one JSON line of the kind "state". The events with higher numbers go
// on from there. Its fields are
//
//	seq, time        of the newest event that it includes
//	kind             "state"
//	events           those that are still true, as WriteJSON writes them
//	caches           object, count and resourceVersion of each kind of objects, as far as they're
//	                 known; reported, if the store itself has counted them
//	counts           how many events there were of each kind, outcome, layer and object
//	beyond           how many requests wait that are not among the events, by layer
func WriteState(w io.Writer, started time.Time, s State) error {
	line := jsonState{
		Seq: s.Seq, Time: started.Add(s.At), Kind: "state", Beyond: s.Beyond,
		Events: []jsonEvent{}, Caches: []jsonCache{}, Counts: []jsonCount{},
	}
	for _, e := range s.Events {
		line.Events = append(line.Events, jsonOf(started, e))
	}
	for _, c := range s.Caches {
		line.Caches = append(line.Caches, jsonCache(c))
	}
	for _, c := range s.Counts {
		line.Counts = append(line.Counts, jsonCount{
			Kind: c.Kind.String(), Outcome: c.Outcome.String(), Layer: c.Layer, Object: c.Object,
			Count: c.Total,
		})
	}
	if err := newEncoder(w).Encode(line); err != nil {
		return fmt.Errorf("writing the state at trace event %d as JSON: %w", s.Seq, err)
	}
	return nil
}

// WriteRecording writes a recorder's content as JSON lines: the state before the events of the
// ring, unless that's the beginning, and the events.
func WriteRecording(w io.Writer, rec *Recorder) error {
	state, cursor := rec.State()
	events, lost := cursor.Read()
	for range 3 {
		if lost == 0 {
			break // otherwise the ring has turned while it was read
		}
		state, cursor = rec.State()
		events, lost = cursor.Read()
	}
	if state.Seq > 0 {
		if err := WriteState(w, rec.Started(), state); err != nil {
			return err
		}
	}
	return WriteJSON(w, rec.Started(), events)
}
