package trace

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// State is the state at one moment that you can't tell from later events: how many objects the
// caches hold, which requests have been waiting for an hour, which watch has failed and why.
//
// Guarantees: the numbers include all events up to Seq. The size has a bound, however many events
// there were.
//
// Caveats: Events has no more than 10,000 events about things that wait, run, fail or are stuck.
// Beyond that, only waiting requests are counted, in Beyond.
type State struct {
	Seq uint64        // of the newest event that it includes; 0 is the beginning
	At  time.Duration // of that event

	// Events are those that are still true, oldest first: the last list of each kind, the Enqueue
	// of a request that waits, the ReconcileStart of one that runs.
	Events []Event
	Caches []Cache        // by kind
	Counts []Count        // totals
	Beyond map[string]int // how many waiting requests Events has no room for, by layer
}

// Cache says how many objects of a kind there are, and at which version of the collection.
type Cache struct {
	Object, Version string
	Count           int
	Reported        bool // by the store itself; otherwise lists and watch events were added up
}

// Count is how many events of one kind and outcome a layer has recorded about one kind of objects.
type Count struct {
	Kind          Kind
	Outcome       Outcome
	Layer, Object string
	Total         int
}

// maxOpen bounds State.Events, except for those about watches, groups and leases, of which a
// program has only a few.
const maxOpen = 10_000

// fold is a State in the making. The recorder adds each event before its ring overwrites it, so the
// ring continues where the state ends.
type fold struct {
	seq uint64
	at  time.Duration

	parts   map[slot]*Event // of watches, groups and leases
	open    map[slot]*Event // of requests that wait, run, fail or have an alarm
	objects map[slot]*Event // that are being deleted, or don't make progress; and namespaces' replicas
	spare   []*Event        // former elements of open: most requests end soon
	beyond  map[string]int  // requests that began to wait when there was no room, by layer

	caches map[string]*cache
	counts map[Count]int // Total isn't set in the keys
}

type cache struct {
	Cache
	known bool // we know the count, from a list or from the store
}

// slot is something that is true or not; the latest event decides.
type slot struct {
	is                             aspect
	kind                           Kind // of parts
	layer, object, namespace, name string
}

type aspect uint8

const (
	part aspect = iota
	waiting
	processing
	delayed
	running
	failing
	ending
	stalled
	held
	worked
)

func newFold() fold {
	return fold{
		parts: map[slot]*Event{}, open: map[slot]*Event{}, objects: map[slot]*Event{},
		beyond: map[string]int{}, caches: map[string]*cache{}, counts: map[Count]int{},
	}
}

// note adds the next event.
func (f *fold) note(e *Event) {
	f.seq, f.at = e.Seq, e.At
	switch e.Kind {
	case List, WatchStart, WatchEnd, Expired, Error, Backoff:
		f.noteWatching(e)
	case WatchEvent, Bookmark, Index, Synced, Condition:
		f.noteInforming(e)
	case Start, Stop, Lease:
		f.keepPart(slot{kind: e.Kind, layer: e.Layer, namespace: e.Namespace, name: e.Name}, e)
	case Shard:
		f.noteShard(e)
	case Handler:
		f.count(e)
	case Predicate:
		if e.Outcome == Filtered {
			f.count(e)
		}
	case Enqueue, Delay, Dequeue, Done:
		f.noteQueueing(e)
	case ReconcileStart, ReconcileEnd:
		f.noteReconciling(e)
	}
}

func (f *fold) noteWatching(e *Event) {
	at := slot{kind: e.Kind, layer: e.Layer, object: watched(e), namespace: e.Namespace}
	page := e.Kind == List && f.isNextPage(at, e)
	f.keepPart(at, e)
	switch {
	case page:
		if c := f.cacheOf(e.Object); !c.Reported {
			c.Count += e.Count
		}
	case e.Kind == List && e.Outcome != Failed:
		f.count(e)
		f.forgetDeletions(e)
		c := f.cacheOf(e.Object)
		c.Version = e.Version
		if !c.Reported {
			c.Count, c.known = e.Count, true
		}
	case e.Kind == WatchStart && e.Op == WatchList:
		f.count(e)
		f.forgetDeletions(e)
		if c := f.cacheOf(e.Object); !c.Reported {
			c.Count, c.known = 0, true
		}
	}
}

// watched is the kind that an event of a watch is about. mini's reflector doesn't know it, but the
// error that it passes on does.
func watched(e *Event) string {
	if e.Object != "" {
		return e.Object
	}
	for _, doing := range []string{"listing ", "watching "} {
		if what, ok := strings.CutPrefix(e.Reason, doing); ok {
			if kind, _, ok := strings.Cut(what, ":"); ok && !strings.Contains(kind, " ") {
				return kind
			}
		}
	}
	return ""
}

// forgetDeletions drops the deletions that wait for a finalizer: if a new list doesn't mention an
// object, its deletion has ended unseen.
func (f *fold) forgetDeletions(e *Event) {
	for at := range f.objects {
		if at.is == ending && at.object == e.Object && (e.Namespace == "" || at.namespace == e.Namespace) {
			f.drop(f.objects, at)
		}
	}
}

// isNextPage reports whether a list continues the one before it: the pages of one list have one
// version, and the watch begins after them.
func (f *fold) isNextPage(at slot, e *Event) bool {
	before, there := f.parts[at]
	if !there || e.Version == "" || before.Version != e.Version {
		return false
	}
	at.kind = WatchStart
	watch, there := f.parts[at]
	return !there || watch.Seq < before.Seq
}

func (f *fold) noteInforming(e *Event) {
	switch e.Kind {
	case WatchEvent:
		f.noteChange(e)
	case Bookmark:
		if e.Object != "" {
			f.cacheOf(e.Object).Version = e.Version
		}
	case Index:
		c := f.cacheOf(e.Object)
		c.Count, c.Reported, c.known = e.Count, true, true
	case Synced:
		f.keepPart(slot{kind: e.Kind, layer: e.Layer, object: e.Object}, e)
		c := f.cacheOf(e.Object)
		c.Count, c.known = e.Count, true
	case Condition:
		at := slot{is: stalled, object: e.Object, namespace: e.Namespace, name: e.Name}
		if e.Reason != "" {
			f.keep(f.objects, at, e)
		} else {
			f.drop(f.objects, at)
		}
	}
}

func (f *fold) noteChange(e *Event) {
	c := f.cacheOf(e.Object)
	c.Version = e.Version
	switch {
	case c.Reported, !c.known:
	case e.Op == "ADDED":
		c.Count++
	case e.Op == "DELETED":
		c.Count = max(0, c.Count-1)
	}
	if e.Reason == "" && len(f.objects) == 0 {
		return
	}
	deletion := slot{is: ending, object: e.Object, namespace: e.Namespace, name: e.Name}
	if e.Reason != "" { // a finalizer that the deletion waits for
		f.keep(f.objects, deletion, e)
	} else {
		f.drop(f.objects, deletion)
	}
}

func (f *fold) noteQueueing(e *Event) {
	at := slot{layer: e.Layer, namespace: e.Namespace, name: e.Name}
	switch e.Kind {
	case Enqueue:
		if e.Outcome == Deduplicated {
			f.count(e)
			return
		}
		at.is = waiting
		f.keep(f.open, at, e)
	case Delay:
		if e.Outcome != Deduplicated {
			at.is = delayed
			f.keep(f.open, at, e)
		}
	case Dequeue:
		at.is = waiting
		f.drop(f.open, at)
		at.is = delayed
		if alarm, ok := f.open[at]; ok && alarm.At+alarm.Took <= e.At {
			f.drop(f.open, at)
		}
		at.is = processing
		f.keep(f.open, at, e)
	case Done:
		at.is = processing
		f.drop(f.open, at)
	}
}

func (f *fold) noteReconciling(e *Event) {
	at := slot{is: running, layer: e.Layer, namespace: e.Namespace, name: e.Name}
	if e.Kind == ReconcileStart {
		f.keep(f.open, at, e)
		return
	}
	f.count(e)
	f.drop(f.open, at)
	at.is = failing
	switch e.Outcome {
	case Failed, GivenUp:
		f.keepFailure(at, e)
	default:
		f.drop(f.open, at)
	}
}

func (f *fold) noteShard(e *Event) {
	at, over := slot{is: worked, layer: e.Layer, name: e.Name}, e.Op == "ended"
	if e.Op == "held" {
		at.is, over = held, e.Reason == ""
	}
	if over {
		f.drop(f.objects, at)
	} else {
		f.keep(f.objects, at, e)
	}
}

// keepFailure remembers how many failures there were in a row, in Count.
func (f *fold) keepFailure(at slot, e *Event) {
	times := 1
	if before, ok := f.open[at]; ok {
		times = before.Count + 1
	}
	f.keep(f.open, at, e)
	if kept, ok := f.open[at]; ok {
		kept.Count = times
	}
}

func (f *fold) keepPart(at slot, e *Event) {
	kept, there := f.parts[at]
	if !there {
		kept = new(Event)
		f.parts[at] = kept
	}
	*kept = *e
}

func (f *fold) keep(in map[slot]*Event, at slot, e *Event) {
	kept, there := in[at]
	switch {
	case there:
	case len(f.open)+len(f.objects) >= maxOpen:
		if at.is == waiting {
			f.beyond[at.layer]++
		}
		return
	case len(f.spare) > 0:
		kept, f.spare = f.spare[len(f.spare)-1], f.spare[:len(f.spare)-1]
		in[at] = kept
	default:
		kept = new(Event)
		in[at] = kept
	}
	*kept = *e
}

func (f *fold) drop(from map[slot]*Event, at slot) {
	if kept, there := from[at]; there {
		delete(from, at)
		*kept = Event{} // the strings may go
		f.spare = append(f.spare, kept)
	} else if at.is == waiting && f.beyond[at.layer] > 0 {
		f.beyond[at.layer]--
	}
}

func (f *fold) cacheOf(kind string) *cache {
	c, there := f.caches[kind]
	if !there {
		c = &cache{Cache: Cache{Object: kind}}
		f.caches[kind] = c
	}
	return c
}

func (f *fold) count(e *Event) {
	f.counts[Count{Kind: e.Kind, Outcome: e.Outcome, Layer: e.Layer, Object: e.Object}]++
}

// state returns a copy.
func (f *fold) state() State {
	s := State{Seq: f.seq, At: f.at, Beyond: maps.Clone(f.beyond)}
	s.Events = make([]Event, 0, len(f.parts)+len(f.open)+len(f.objects))
	for _, all := range []map[slot]*Event{f.parts, f.open, f.objects} {
		for e := range maps.Values(all) {
			s.Events = append(s.Events, *e)
		}
	}
	for _, c := range f.caches {
		if c.known {
			s.Caches = append(s.Caches, c.Cache)
		}
	}
	for c, total := range f.counts {
		c.Total = total
		s.Counts = append(s.Counts, c)
	}
	return s
}

// sort makes the same state the same text. It isn't part of state, which runs under a lock.
func (s *State) sort() {
	slices.SortFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortFunc(s.Caches, func(a, b Cache) int { return cmp.Compare(a.Object, b.Object) })
	slices.SortFunc(s.Counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Object, b.Object),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Outcome, b.Outcome))
	})
}
