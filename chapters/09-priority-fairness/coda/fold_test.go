package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

// The timeline of a storm must fit on a page, and what is left out must be counted.
func TestALongStretchOfIntakeIsFoldedAndCounted(t *testing.T) {
	var events []trace.Event
	come := func(changes int) {
		for n := range changes {
			enqueue := trace.Event{Kind: trace.Enqueue, Name: "shop", Outcome: trace.Deduplicated}
			if n == 0 {
				enqueue.Outcome = 0
			}
			events = append(events, trace.Event{Kind: trace.WatchEvent, Name: "shop"}, trace.Event{Kind: trace.Handler, Name: "shop"},
				trace.Event{Kind: trace.WatchEvent, Name: "bank"}, enqueue)
		}
	}
	come(100)
	events = append(events, trace.Event{Kind: trace.Write, Namespace: "shop", Name: "team"}, trace.Event{Kind: trace.Write, Namespace: "bank", Name: "team"})
	come(2)
	var kinds []trace.Kind
	folded := fold(events, "shop")
	for _, event := range folded {
		kinds = append(kinds, event.Kind)
	}
	one := []trace.Kind{trace.WatchEvent, trace.Handler, trace.Enqueue}
	want := append(append(append(append([]trace.Kind{}, one...), one...), trace.Note, trace.Write), append(one, one...)...)
	require.Equal(t, want, kinds, "a short stretch is shown in full, and nothing of another Namespace")
	require.Equal(t, "and 98 more watch events, 98 calls of a handler, 98 adds, 98 of them merged", folded[6].Reason)
}
