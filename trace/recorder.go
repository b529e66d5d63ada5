package trace

import (
	"sync"
	"time"
)

// Recorder keeps the last events of a program in a ring.
//
// Guarantees: events are numbered 1, 2, 3, ... without a gap. Recording allocates nothing, except
// when more things are in progress at the same time than ever before. It waits for a reader of
// events only as long as it takes to copy a few. What you can no longer tell from the ring is in
// State. All methods may be called from any goroutine, and on a nil Recorder, which records nothing
// and is always empty.
//
// Caveats: the ring is bounded. The newest events overwrite the oldest, and a reader learns how
// many it missed. Recording waits while a State is copied, which takes microseconds, or a
// millisecond when 10,000 requests wait. Seq is the order in which goroutines locked the ring,
// after they read the clock: two At values of different goroutines may be out of order by
// nanoseconds.
//
// The whole ring has one mutex on purpose. With a mutex for each slot and an atomic number,
// recording took longer on two cores (59 ns instead of 48, and 123 instead of 82 with two writers):
// it needs one more atomic instruction, readers can see holes, and a writer can arrive late.
type Recorder struct {
	started time.Time
	mask    uint64 // len(ring)-1: a power of two spares the hot path a division

	mu      sync.Mutex    // guards all below
	ring    []Event       // the event with number n is at n&mask
	before  fold          // of the events that the ring has forgotten
	seq     uint64        // the number of the newest event
	changed chan struct{} // closed by Record; received by Cursor.Wait; nil without a waiting cursor
}

// DefaultSize holds a few minutes of a busy controller in under 1 MB.
const DefaultSize = 4096

// New makes a recorder that holds at least size events; zero or less means
// DefaultSize. It's on from the start: off is a nil *Recorder.
func New(size int) *Recorder {
	if size <= 0 {
		size = DefaultSize
	}
	n := 1
	for n < size {
		n *= 2
	}
	return &Recorder{
		started: time.Now(), ring: make([]Event, n), mask: uint64(n - 1), before: newFold(),
	}
}

// On reports whether events are kept. Record is safe without it, but a layer asks first: then a
// recorder that is off costs one branch, and the layer doesn't build an Event.
//
//	if rec.On() {
//		rec.Record(trace.Event{Kind: trace.Dequeue, ...})
//	}
func (r *Recorder) On() bool { return r != nil }

// Record adds an event. Seq and At are filled in here.
//
// Reading the clock is a good part of its cost. time.Since reads only the monotonic
// clock, which costs half as much as time.Now. Inside a synctest bubble it reads the
// bubble's clock, so no clock has to be injected.
func (r *Recorder) Record(e Event) {
	if r == nil {
		return
	}
	at := time.Since(r.started)
	r.mu.Lock()
	r.seq++
	slot := &r.ring[r.seq&r.mask]
	if slot.Seq != 0 {
		r.before.note(slot)
	}
	*slot = e
	slot.Seq, slot.At = r.seq, at
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	r.mu.Unlock()
}

// Started is the moment from which Event.At counts.
func (r *Recorder) Started() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.started
}

// Recorded is the number of events ever recorded, the overwritten ones included.
func (r *Recorder) Recorded() uint64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seq
}

// Events returns what the ring holds now, oldest first.
func (r *Recorder) Events() []Event {
	events, _ := r.Cursor().Read()
	return events
}

// State returns what was true before the oldest event that the ring still holds, and a cursor that
// continues from there. Its Seq is 0 while the ring holds everything.
func (r *Recorder) State() (State, *Cursor) {
	c := &Cursor{rec: r}
	if r == nil {
		return State{}, c
	}
	r.mu.Lock()
	s := r.before.state()
	c.next = s.Seq + 1
	r.mu.Unlock()
	s.sort()
	return s, c
}

// oldestLocked is the number of the oldest event that the ring still holds.
func (r *Recorder) oldestLocked() uint64 {
	if n := uint64(len(r.ring)); r.seq > n {
		return r.seq - n + 1
	}
	return 1
}
