package trace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func request(kind Kind, name string) Event {
	return Event{Kind: kind, Layer: "shop", Namespace: "default", Name: name}
}

// still lists the events of a state.
func still(s State) (names []string) {
	for _, e := range s.Events {
		names = append(names, e.Kind.String()+" "+e.Object+e.Name)
	}
	return names
}

// forget pushes all that a recorder has out of its ring.
func forget(r *Recorder) State {
	for range r.ring {
		r.Record(Event{Kind: Note})
	}
	s, _ := r.State()
	return s
}

func TestWhatIsStillSoIsKnownLongerThanTheRingIs(t *testing.T) {
	r := New(8)
	r.Record(Event{Kind: List, Layer: "listwatch", Object: "Secret", Count: 3})
	r.Record(Event{Kind: List, Layer: "listwatch", Object: "Pod", Count: 5})
	r.Record(Event{Kind: List, Layer: "listwatch", Object: "Pod", Count: 6})
	for _, name := range []string{"waits", "runs", "has ended", "failed", "has recovered"} {
		r.Record(request(Enqueue, name))
	}
	for _, name := range []string{"runs", "has ended", "failed", "has recovered"} {
		r.Record(request(Dequeue, name))
		r.Record(request(ReconcileStart, name))
	}
	end := func(name string, outcome Outcome) {
		e := request(ReconcileEnd, name)
		e.Outcome = outcome
		r.Record(e)
		r.Record(request(Done, name))
	}
	end("has ended", Succeeded)
	end("failed", Failed)
	end("failed", Failed)
	end("has recovered", Failed)
	end("has recovered", Succeeded)
	merged := request(Enqueue, "has ended")
	merged.Outcome = Deduplicated
	r.Record(merged)
	s := forget(r)
	require.Equal(t, []string{
		"list Secret", "list Pod", "enqueue waits", "dequeue runs", "reconcile start runs",
		"reconcile end failed",
	}, still(s))
	require.Equal(t, 6, s.Events[1].Count, "the latest list")
	require.Equal(t, 2, s.Events[5].Count, "the failures in a row")
	require.Equal(t, r.Recorded()-8, s.Seq)
}

// A page that is opened after an hour would show no object in any cache, and one that sees only the
// deletions less than none.
func TestTheCountsOfAStateAreThoseOfAllEvents(t *testing.T) {
	for size := range 40 {
		r, random := New(1+size), rand.New(rand.NewPCG(1, uint64(size)))
		pods, merged, reconciled := 7, 0, map[Outcome]int{}
		r.Record(Event{Kind: List, Object: "Pod", Count: pods, Version: "1"})
		r.Record(Event{Kind: Synced, Object: "Node", Count: 3})
		for i := range 1000 {
			version := fmt.Sprint(i)
			switch random.IntN(6) {
			case 0, 1:
				pods++
				r.Record(Event{Kind: WatchEvent, Object: "Pod", Op: "ADDED", Version: version})
			case 2:
				if pods > 0 {
					pods--
					r.Record(Event{Kind: WatchEvent, Object: "Pod", Op: "DELETED", Version: version})
				}
			case 3:
				r.Record(Event{Kind: Index, Object: "Secret", Count: i})
			case 4:
				merged++
				e := request(Enqueue, "one")
				e.Outcome = Deduplicated
				r.Record(e)
			case 5:
				e := request(ReconcileEnd, "one")
				e.Outcome = []Outcome{Succeeded, Failed}[random.IntN(2)]
				reconciled[e.Outcome]++
				r.Record(e)
			}
		}
		r.Record(Event{Kind: Index, Object: "Secret", Count: 44})
		r.Record(Event{Kind: WatchEvent, Object: "Secret", Op: "ADDED", Version: "9"}) // the store hasn't said so yet
		s := forget(r)
		require.Len(t, s.Caches, 3)
		require.Equal(t, Cache{Object: "Node", Count: 3}, s.Caches[0])
		require.Equal(t, pods, s.Caches[1].Count)
		require.Equal(t, Cache{Object: "Secret", Count: 44, Version: "9", Reported: true}, s.Caches[2])
		total := map[Outcome]int{}
		for _, c := range s.Counts {
			if c.Kind == ReconcileEnd {
				total[c.Outcome] = c.Total
			}
		}
		require.Equal(t, reconciled, total)
		require.Contains(t, s.Counts, Count{Kind: Enqueue, Outcome: Deduplicated, Layer: "shop", Total: merged})
	}
}

func TestARingThatHasForgottenNothingGoesOnFromTheBeginning(t *testing.T) {
	r := New(8)
	for range 8 {
		r.Record(request(Enqueue, "one"))
	}
	s, c := r.State()
	require.Zero(t, s.Seq)
	require.Empty(t, s.Events)
	events, lost := c.Read()
	require.Len(t, events, 8)
	require.Zero(t, lost)
	s, c = off.State()
	require.Zero(t, s)
	events, _ = c.Read()
	require.Empty(t, events)
}

// An event that is in neither, or in both, is a Pod too few or too many.
func TestTheRingGoesOnWhereTheStateEnds(t *testing.T) {
	r, done := New(64), make(chan struct{})
	r.Record(Event{Kind: List, Object: "Pod"})
	go func() {
		defer close(done)
		for range 50_000 {
			r.Record(Event{Kind: WatchEvent, Object: "Pod", Op: "ADDED"})
		}
	}()
	check := func() {
		s, c := r.State()
		events, lost := c.Read()
		if lost > 0 {
			return
		}
		next := s.Seq + 1
		if s.Seq > 0 {
			require.EqualValues(t, s.Seq-1, s.Caches[0].Count)
		}
		for _, e := range events {
			require.Equal(t, next, e.Seq)
			next++
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		check()
	}
}

func TestAnAlarmIsKnownUntilItHasRung(t *testing.T) {
	f := newFold()
	at := func(kind Kind, at, took time.Duration) *Event {
		e := request(kind, "one")
		e.At, e.Took = at, took
		return &e
	}
	f.note(at(Delay, time.Second, time.Minute))
	f.note(at(Dequeue, 2*time.Second, 0))
	f.note(at(Done, 2*time.Second, 0))
	require.Equal(t, []string{"delay one"}, still(f.state()), "a change came before it")
	later := at(Delay, 3*time.Second, time.Hour)
	later.Outcome = Deduplicated
	f.note(later)
	require.Equal(t, time.Minute, f.state().Events[0].Took, "the earlier one counts")
	f.note(at(Dequeue, 2*time.Minute, 0))
	f.note(at(Done, 2*time.Minute, 0))
	require.Empty(t, f.state().Events)
}

// A controller that gets more requests than it can work off must not fill the memory with them.
func TestAStateHasABound(t *testing.T) {
	f := newFold()
	note := func(kind Kind, name string) { e := request(kind, name); f.note(&e) }
	for i := range maxOpen + 5 {
		note(Enqueue, fmt.Sprint(i))
	}
	s := f.state()
	require.Len(t, s.Events, maxOpen)
	require.Equal(t, map[string]int{"shop": 5}, s.Beyond)
	note(Dequeue, "0")
	note(Dequeue, fmt.Sprint(maxOpen+1))
	require.Equal(t, map[string]int{"shop": 4}, f.state().Beyond)
	require.Equal(t, 5, s.Beyond["shop"], "a state doesn't change")
}

func TestADeletionThatWaitsAndAnObjectThatIsStuckAreKnown(t *testing.T) {
	f := newFold()
	note := func(e Event) { f.note(&e) }
	note(Event{Seq: 1, Kind: WatchEvent, Object: "Pod", Name: "p", Op: "MODIFIED", Reason: "example.com/bucket"})
	note(Event{Seq: 2, Kind: WatchEvent, Object: "Pod", Name: "q", Op: "MODIFIED"})
	note(Event{Seq: 3, Kind: Condition, Object: "Deployment", Name: "d", Op: "Progressing", Reason: "no image"})
	require.ElementsMatch(t, []string{"watch event Podp", "condition Deploymentd"}, still(f.state()))
	note(Event{Kind: WatchEvent, Object: "Pod", Name: "p", Op: "DELETED"})
	note(Event{Kind: Condition, Object: "Deployment", Name: "d", Op: "Progressing"})
	require.Empty(t, f.state().Events)
}

func TestARecordingBeginsWithTheStateThatTheRingHasForgotten(t *testing.T) {
	r := New(2)
	r.Record(Event{Kind: List, Object: "Pod", Count: 162, Version: "7"})
	r.Record(request(Enqueue, "one"))
	var all strings.Builder
	require.NoError(t, WriteRecording(&all, r))
	require.NotContains(t, all.String(), `"kind":"state"`, "nothing is forgotten yet")
	all.Reset()
	forget(r)
	require.NoError(t, WriteRecording(&all, r))
	lines := strings.Split(all.String(), "\n")
	require.Len(t, lines, 4)
	require.Regexp(t, `^{"seq":2,"time":"[^"]+","kind":"state","events":\[{"seq":1,.*{"seq":2,.*\],`+
		`"caches":\[{"object":"Pod","resourceVersion":"7","count":162}\],`+
		`"counts":\[{"kind":"list","object":"Pod","count":1}\]}$`, lines[0])
	require.Regexp(t, `^{"seq":3,`, lines[1])
}

// Whoever leaves the recorder on pays for what has ended with time, and not with memory.
func TestWhatHasEndedLeavesNothingBehind(t *testing.T) {
	r := New(64)
	one := func() {
		for _, kind := range []Kind{Enqueue, Dequeue, ReconcileStart, ReconcileEnd, Done} {
			r.Record(request(kind, "one"))
		}
	}
	for range 100 {
		one()
	}
	require.Zero(t, testing.AllocsPerRun(1000, one))
	require.Empty(t, forget(r).Events)
	require.LessOrEqual(t, len(r.before.spare), 3)
}

// 20,000 Pods come in 40 pages. That's one list, and no relist.
func TestThePagesOfAListAreOneList(t *testing.T) {
	r := New(1)
	page := Event{Kind: List, Object: "Pod", Count: 500, Version: "7"}
	r.Record(page)
	r.Record(page)
	s := forget(r)
	require.Equal(t, []Cache{{Object: "Pod", Version: "7", Count: 1000}}, s.Caches)
	require.Equal(t, 1, s.Counts[0].Total)
	r.Record(Event{Kind: WatchStart, Object: "Pod", Version: "7"})
	r.Record(page)
	s = forget(r)
	require.Equal(t, 500, s.Caches[0].Count)
	require.Equal(t, 2, s.Counts[0].Total)
}

// A page that is opened while the API server is away must show all watches that fail, not the last one.
func TestEachWatchThatFailsIsKnown(t *testing.T) {
	r := New(8)
	for _, kind := range []string{"Pod", "ReplicaSet"} {
		r.Record(Event{Kind: Backoff, Layer: "reflector", Reason: "watching " + kind + ": connection refused"})
	}
	var reasons []string
	for _, e := range forget(r).Events {
		reasons = append(reasons, e.Reason)
	}
	require.Equal(t, []string{"watching Pod: connection refused", "watching ReplicaSet: connection refused"}, reasons)
}

// An object whose end nobody saw would be shown as waiting for its finalizer forever.
func TestADeletionThatANewListDoesNotMentionHasEnded(t *testing.T) {
	for _, list := range []Event{
		{Kind: List, Object: "Secret", Version: "7", Count: 2},
		{Kind: WatchStart, Op: WatchList, Object: "Secret"},
	} {
		r := New(8)
		deletion := Event{Kind: WatchEvent, Op: "MODIFIED", Object: "Secret", Namespace: "default", Name: "s", Reason: "held"}
		r.Record(deletion)
		deletion.Object = "Pod"
		r.Record(deletion)
		require.Equal(t, []string{"watch event Secrets", "watch event Pods"}, still(forget(r)))
		list.Layer = "listwatch"
		r.Record(list)
		require.NotContains(t, still(forget(r)), "watch event Secrets")
		require.Contains(t, still(forget(r)), "watch event Pods", "of another kind")
	}
}

// A page that's opened an hour after the last handover shows who has what all the same.
func TestWhoHasWhichNamespaceIsKnownLongerThanTheRingIs(t *testing.T) {
	r := New(8)
	shard := func(op, name, reason string) {
		r.Record(Event{Kind: Shard, Layer: "shards shop", Object: "Namespace", Name: name, Op: op, Reason: reason})
	}
	shard("held", "red", "shop-1")
	shard("begins", "red", "")
	shard("held", "blue", "shop-1")
	shard("begins", "blue", "")
	shard("held", "deleted", "shop-2")
	shard("held", "deleted", "")
	shard("stops", "red", "")
	shard("ended", "red", "")
	shard("held", "red", "shop-2")
	var known []string
	for _, e := range forget(r).Events {
		if e.Kind == Shard {
			known = append(known, strings.TrimSpace(e.Name+" "+e.Op+" "+e.Reason))
		}
	}
	require.Equal(t, []string{"blue held shop-1", "blue begins", "red held shop-2"}, known)
}
