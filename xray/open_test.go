package xray

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/trace"
)

// names are what a new viewer is told before the events of the ring.
func names(events []trace.Event) (names []string) {
	for _, e := range events {
		names = append(names, e.Kind.String()+" "+e.Object+e.Name)
	}
	return names
}

func TestWhatIsStillSoIsRememberedLongerThanTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(8)
		x := New(recorder)
		go func() { _ = x.Start(t.Context()) }()
		record := func(e trace.Event) {
			recorder.Record(e)
			time.Sleep(followEvery) // X-ray keeps up
		}
		record(trace.Event{Kind: trace.List, Layer: "listwatch", Object: "Secret", Count: 3})
		record(trace.Event{Kind: trace.List, Layer: "listwatch", Object: "Pod", Count: 5})
		record(trace.Event{Kind: trace.List, Layer: "listwatch", Object: "Pod", Count: 6})
		for _, name := range []string{"waits", "runs", "has ended", "failed", "has recovered"} {
			record(event(trace.Enqueue, name))
		}
		for _, name := range []string{"runs", "has ended", "failed", "has recovered"} {
			record(event(trace.Dequeue, name))
			record(event(trace.ReconcileStart, name))
		}
		end := func(name string, outcome trace.Outcome) {
			e := event(trace.ReconcileEnd, name)
			e.Outcome = outcome
			record(e)
			record(event(trace.Done, name))
		}
		end("has ended", trace.Succeeded)
		end("failed", trace.Failed)
		end("has recovered", trace.Failed)
		end("has recovered", trace.Succeeded)
		merged := event(trace.Enqueue, "has ended")
		merged.Outcome = trace.Deduplicated
		record(merged)
		for i := range 8 { // they push all of this out of the ring
			record(trace.Event{Kind: trace.WatchEvent, Object: "Node", Name: fmt.Sprint(i)})
		}
		events := x.events(recorder.Events())
		require.Equal(t, []string{
			"list Secret", "list Pod", "enqueue waits", "dequeue runs", "reconcile start runs",
			"reconcile end failed",
		}, names(events[:len(events)-8]))
		require.Equal(t, 6, events[1].Count, "the latest list")
	})
}

func TestAnAlarmIsRememberedUntilItHasRung(t *testing.T) {
	o := newOpenEvents()
	alarm := event(trace.Delay, "one")
	alarm.At, alarm.Took, alarm.Seq = time.Second, time.Minute, 1
	o.note(alarm)
	taken := event(trace.Dequeue, "one")
	taken.At, taken.Seq = 2*time.Second, 2
	o.note(taken)
	o.note(event(trace.Done, "one"))
	require.Equal(t, []string{"delay one"}, names(o.before(10)), "a change came before it")
	require.Empty(t, o.before(1), "the ring has it still")
	later := alarm
	later.Outcome, later.Took = trace.Deduplicated, time.Hour
	o.note(later)
	require.Equal(t, time.Minute, o.before(10)[0].Took, "the earlier one counts")
	taken.At = 2 * time.Minute
	o.note(taken)
	o.note(event(trace.Done, "one"))
	require.Empty(t, o.before(10))
}

// A request whose end is among the lost events would wait for ever in the picture.
func TestAGapInTheEventsEndsWhatWasKnownOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := trace.New(4)
		x := New(recorder)
		go func() { _ = x.Start(t.Context()) }()
		recorder.Record(trace.Event{Kind: trace.List, Object: "Pod"})
		recorder.Record(event(trace.Enqueue, "one"))
		time.Sleep(followEvery)
		synctest.Wait()
		require.Len(t, x.open.before(3), 2)
		for range 10 {
			recorder.Record(trace.Event{Kind: trace.Note})
		}
		time.Sleep(followEvery)
		synctest.Wait()
		require.Equal(t, []string{"list Pod"}, names(x.open.before(3)))
	})
}

func TestWhatIsRememberedHasABound(t *testing.T) {
	o := newOpenEvents()
	var added []trace.Event
	for i := range maxRequests + 5 {
		added = append(added, event(trace.Enqueue, fmt.Sprint(i)))
	}
	o.note(added...)
	require.Len(t, o.requests, maxRequests)
	again := event(trace.Enqueue, "0")
	again.Reason = "again"
	o.note(again)
	require.Equal(t, "again", o.requests[slot{is: waiting, layer: "shop", namespace: "default", name: "0"}].Reason)
	o.note(event(trace.Dequeue, "0"))
	require.NotContains(t, o.requests, slot{is: waiting, layer: "shop", namespace: "default", name: "0"})
}

func TestADeletionThatWaitsIsRemembered(t *testing.T) {
	o := newOpenEvents()
	pod := trace.Event{Seq: 1, Kind: trace.WatchEvent, Object: "Pod", Name: "p", Op: "MODIFIED",
		Reason: "example.com/bucket"}
	o.note(pod)
	other := pod
	other.Name, other.Reason = "q", ""
	o.note(other)
	require.Equal(t, []string{"watch event Podp"}, names(o.before(10)))
	pod.Op, pod.Reason = "DELETED", ""
	o.note(pod)
	require.Empty(t, o.before(10))
}
