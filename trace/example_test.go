package trace_test

import (
	"os"

	"github.com/loopwright/loopwright/trace"
)

// A layer records what it does; later, a user asks why a key was reconciled.
func Example() {
	rec := trace.New(0)
	if rec.On() {
		rec.Record(trace.Event{Kind: trace.WatchEvent, Layer: "listwatch", Object: "Pod",
			Namespace: "default", Name: "web-1", Version: "815", Op: "DELETED"})
		rec.Record(trace.Event{Kind: trace.Handler, Layer: "replicaset", Object: "Pod",
			Namespace: "default", Name: "web-1", Version: "815", Op: "Delete",
			ToNamespace: "default", ToName: "web", Reason: "owner ReplicaSet"})
	}

	events := trace.Why(rec.Events(), "ReplicaSet", "default", "web")
	for i := range events {
		events[i].At = 0 // an example's output must not depend on the clock
	}
	_ = trace.Timeline{}.Write(os.Stdout, events)
	// Output:
	// 0.000s  listwatch   watch event      Pod default/web-1  DELETED at resourceVersion 815
	//    0.000s  replicaset  handler          Pod default/web-1  Delete asks for default/web: owner ReplicaSet
}
