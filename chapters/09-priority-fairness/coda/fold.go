package main

import (
	"fmt"
	"slices"

	"github.com/loopwright/loopwright/trace"
)

// shownOfStretch is how many events of a stretch are shown.
const shownOfStretch = 6

// intake is what happens without any work being done.
var intake = []trace.Kind{trace.WatchEvent, trace.Handler, trace.Enqueue}

// fold picks the events of one Namespace. Where a long stretch of them is intake, it
// keeps the beginning, and counts the rest.
func fold(events []trace.Event, namespace string) []trace.Event {
	var folded, stretch []trace.Event
	end := func() {
		folded = append(folded, stretch...)
		if len(stretch) > shownOfStretch+1 {
			folded = slices.Delete(folded, len(folded)-len(stretch)+shownOfStretch, len(folded))
			folded = append(folded, summary(stretch[shownOfStretch:]))
		}
		stretch = nil
	}
	for _, event := range events {
		if event.Name != namespace && event.Namespace != namespace {
			continue
		}
		if slices.Contains(intake, event.Kind) {
			stretch = append(stretch, event)
			continue
		}
		end()
		folded = append(folded, event)
	}
	end()
	return folded
}

func summary(events []trace.Event) trace.Event {
	counts := map[trace.Kind]int{}
	merged := 0
	for _, event := range events {
		counts[event.Kind]++
		if event.Outcome == trace.Deduplicated {
			merged++
		}
	}
	last := events[len(events)-1]
	return trace.Event{Kind: trace.Note, At: last.At, Layer: "...", Reason: fmt.Sprintf("and %d more watch events, %d calls of a handler, %d adds, %d of them merged",
		counts[trace.WatchEvent], counts[trace.Handler], counts[trace.Enqueue], merged)}
}
