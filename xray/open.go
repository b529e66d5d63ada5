package xray

import (
	"cmp"
	"maps"
	"slices"

	"github.com/loopwright/loopwright/trace"
)

// maxRequests bounds how much openEvents remembers of single requests.
const maxRequests = 10_000

// openEvents has the events that say what is so now, however long ago they were recorded: the last
// list of each kind, the request that waits since an hour, the reconcile that never ends.
type openEvents struct {
	parts    map[slot]*trace.Event // of watches, groups and leases: as many as the program has
	requests map[slot]*trace.Event // and of objects that are being deleted
}

// slot is a thing that is so or not; the latest event says it.
type slot struct {
	is                             state
	kind                           trace.Kind // of parts
	layer, object, namespace, name string
}

type state uint8

const (
	part state = iota
	waiting
	processing
	delayed
	running
	failing
	ending
)

func newOpenEvents() *openEvents {
	return &openEvents{parts: map[slot]*trace.Event{}, requests: map[slot]*trace.Event{}}
}

// note brings it up to date with the next events. Most requests end among the events that they
// begin in, so what remains is copied at the end: it must not keep all the others in memory.
func (o *openEvents) note(events ...trace.Event) {
	for i := range events {
		o.noteOne(&events[i])
	}
	for _, all := range []map[slot]*trace.Event{o.parts, o.requests} {
		for at, e := range all {
			if e.Seq >= events[0].Seq {
				copied := *e
				all[at] = &copied
			}
		}
	}
}

func (o *openEvents) noteOne(e *trace.Event) {
	request := func(is state) slot {
		return slot{is: is, layer: e.Layer, namespace: e.Namespace, name: e.Name}
	}
	switch e.Kind {
	case trace.List, trace.WatchStart, trace.WatchEnd, trace.Expired, trace.Error, trace.Backoff,
		trace.Synced:
		o.parts[slot{kind: e.Kind, layer: e.Layer, object: e.Object, namespace: e.Namespace}] = e
	case trace.Index:
		o.parts[slot{kind: e.Kind, layer: e.Layer, object: e.Object}] = e
	case trace.Start, trace.Stop, trace.Lease:
		o.parts[slot{kind: e.Kind, layer: e.Layer, namespace: e.Namespace, name: e.Name}] = e
	case trace.WatchEvent:
		deletion := slot{is: ending, object: e.Object, namespace: e.Namespace, name: e.Name}
		if e.Reason != "" { // a finalizer that the deletion waits for
			o.keep(deletion, e)
		} else {
			delete(o.requests, deletion)
		}
	case trace.Enqueue:
		if e.Outcome != trace.Deduplicated {
			o.keep(request(waiting), e)
		}
	case trace.Delay:
		if e.Outcome != trace.Deduplicated {
			o.keep(request(delayed), e)
		}
	case trace.Dequeue:
		delete(o.requests, request(waiting))
		if alarm, ok := o.requests[request(delayed)]; ok && alarm.At+alarm.Took <= e.At {
			delete(o.requests, request(delayed))
		}
		o.keep(request(processing), e)
	case trace.Done:
		delete(o.requests, request(processing))
	case trace.ReconcileStart:
		o.keep(request(running), e)
	case trace.ReconcileEnd:
		delete(o.requests, request(running))
		delete(o.requests, request(failing))
		switch e.Outcome {
		case trace.Failed, trace.GivenUp, trace.Waiting:
			o.keep(request(failing), e)
		}
	}
}

func (o *openEvents) keep(at slot, e *trace.Event) {
	if _, there := o.requests[at]; there || len(o.requests) < maxRequests {
		o.requests[at] = e
	}
}

// forgetRequests is for a gap in the events: what waited or ran before it may have ended.
func (o *openEvents) forgetRequests() { clear(o.requests) }

// before returns the events that are older than number seq, oldest first.
func (o *openEvents) before(seq uint64) (events []trace.Event) {
	for _, all := range []map[slot]*trace.Event{o.parts, o.requests} {
		for e := range maps.Values(all) {
			if e.Seq < seq {
				events = append(events, *e)
			}
		}
	}
	slices.SortFunc(events, func(a, b trace.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return events
}
