package xray

import (
	"fmt"
	"testing"
	"time"

	"github.com/loopwright/loopwright/trace"
)

// BenchmarkFollow is what Start does with the five events of each request.
func BenchmarkFollow(b *testing.B) {
	recorder := trace.New(0)
	open, cursor := newOpenEvents(), recorder.Cursor()
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprint("website-", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := trace.Event{Layer: "website", Namespace: "default", Name: names[i%len(names)]}
		for _, kind := range []trace.Kind{
			trace.Enqueue, trace.Dequeue, trace.ReconcileStart, trace.ReconcileEnd, trace.Done,
		} {
			e.Kind, e.Took = kind, time.Millisecond
			recorder.Record(e)
		}
		if i%100 == 99 {
			events, _ := cursor.Read()
			open.note(events...)
		}
	}
}
