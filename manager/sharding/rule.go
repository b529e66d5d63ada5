package sharding

import (
	"slices"
	"time"
)

// This file decides. It has no clock, no client and no goroutine: a replica is told what was read and
// what became of its writes, and says what may begin, what must stop, and what to write.
//
// The rule that keeps two replicas from working on one range:
//
//	a range changes hands only in the table, which is one object: each write builds on the version
//	  that was read, so of two writes on one version only one succeeds
//	its holder    gives it away after its last reconcile there has ended
//	another one   takes it only if the holder is gone: its Lease was released, by itself after its
//	  last reconcile, or for it by somebody who has seen no renewal for LeaseDuration. The holder
//	  has stopped by its own clock before that
//
// The name of a member is never used again, so a member that is gone stays gone.

// replica is what one replica knows and does. A value doesn't change; the methods that return one
// return another.
type replica struct {
	me       string
	leaving  bool // stops its work, and then releases its Lease
	patience time.Duration
	numbers  []uint64 // of the namespaces, or unknown
	guesses  bool     // there may be others: then it gives nothing away, but takes what's free

	table   table  // the newest that was read or written; without runs if there was none
	version string // of the object that was read last; "" if it's missing. A write builds on it
	behind  bool   // that object has an older table than we know
	current bool   // a write may build on what we know
	// quiet is when ranges may begin again, after a table that was behind, or when a table may be
	// made, after none was found.
	quiet time.Time

	alive []string // may be given ranges
	gone  []string // may be taken from

	works Set // reconciles may run here
	stops Set // and those among them in which none begins any more

	// asked is the write that's under way, if asking.
	asked  table
	asking bool
	// unsure are the ranges that writes give away of which nobody has told us the outcome. They may
	// still happen until a table is seen that's as new as they would make it: unsureUntil.
	unsure      Set
	unsureUntil int64
}

func newReplica(me string, patience time.Duration) replica {
	return replica{me: me, patience: patience, numbers: unknown}
}

// reads handles an answer: the table and the version of its object, and who of the members is alive
// or gone. A missing table has the version "".
//
// A table that's older than one we have seen is a late answer, or the server was restored from a
// backup. We don't believe it, and try to write ours again: that fails if the answer was late. If
// it doesn't, others may have seen what we haven't, so nothing begins until they have noticed, too.
//
// Somebody who finds no table, and isn't alone, waits as long: it may have been deleted, and those
// who knew it write it again.
func (r replica) reads(t table, version string, alive, gone []string, now time.Time) replica {
	alone := len(alive) == 0 || len(alive) == 1 && alive[0] == r.me
	first := r.version == "" && r.table.runs == nil && !r.current
	r.alive, r.gone, r.version, r.current = alive, gone, version, true
	r.behind = t.generation < r.table.generation
	switch {
	case r.behind, version == "" && first && !alone:
		r.quiet = now.Add(r.patience)
	}
	if !r.behind {
		r.table = t
	}
	return r.settled()
}

// settled forgets the writes that can't happen any more, or have.
func (r replica) settled() replica {
	if r.table.generation >= r.unsureUntil {
		r.unsure, r.unsureUntil = nil, 0
	}
	return r
}

// want is the plan, and which part of it is ours.
//
// Two replicas that know different namespaces have different plans. What one gives to the other, the
// other would give back. So a replica gives only if it has listed the namespaces since it read the
// table: then it knows more than the one that wrote it.
func (r replica) want() (runs []run, ours Set) {
	runs = plan(r.table.runs, r.alive, r.numbers)
	ours = heldBy(runs, r.isMe)
	if r.guesses {
		ours = ours.or(heldBy(r.table.runs, r.isMe))
	}
	return runs, ours
}

func (r replica) isMe(member string) bool { return member == r.me }

// isFree says for a holder that others may take what it has.
func (r replica) isFree(holder string) bool { return holder == "" || slices.Contains(r.gone, holder) }

// acts returns what begins and what stops now. The caller makes it so: before it does anything else
// it stops what must stop, and then begins what may.
func (r replica) acts(now time.Time) (begin, stop Set) {
	if r.leaving || r.table.runs == nil {
		return nil, r.works.without(r.stops)
	}
	_, wanted := r.want()
	may := heldBy(r.table.runs, r.isMe).and(wanted)
	stop = r.works.without(may).without(r.stops)
	if !now.Before(r.quiet) {
		begin = may.without(r.works).without(r.unsure)
	}
	return begin, stop
}

// begun, stopping and ended note what the caller has made so.
func (r replica) begun(ranges Set) replica {
	r.works = r.works.or(ranges)
	return r
}

func (r replica) stopping(ranges Set) replica {
	r.stops = r.stops.or(ranges)
	return r
}

func (r replica) ended(ranges Set) replica {
	r.works, r.stops = r.works.without(ranges), r.stops.without(ranges)
	return r
}

// writes returns the table to write, if there's anything to write: what others take, give or hold
// stays as it is.
func (r replica) writes(now time.Time) (t table, needed bool) {
	missing := r.table.runs == nil
	if !r.current || r.asking || r.leaving || missing && now.Before(r.quiet) {
		return table{}, false
	}
	want, wanted := r.want()
	gives := heldBy(r.table.runs, r.isMe).without(wanted).without(r.works)
	takes := heldBy(r.table.runs, r.isFree).and(wanted)
	t = table{r.table.generation + 1, replaced(r.table.runs, gives.or(takes), want)}
	return t, r.behind || r.unsureUntil > 0 || missing || !slices.Equal(t.runs, r.table.runs)
}

// sends notes that the table is being written. If its answer is lost, the write may have happened,
// or not, or may happen later, even after another one that was sent since.
func (r replica) sends(t table) replica {
	r.asked, r.asking, r.unsureUntil = t, true, t.generation
	r.unsure = r.unsure.or(heldBy(r.table.runs, r.isMe).without(heldBy(t.runs, r.isMe)))
	return r
}

// wrote handles the answer that the table was written: the object has this version now.
func (r replica) wrote(version string) replica {
	r.table, r.version, r.behind, r.asking = r.asked, version, false, false
	return r.settled()
}

// failed handles any other answer, or none.
func (r replica) failed() replica {
	r.asking, r.current = false, false
	return r
}

// left returns true if a replica that's leaving has ended all its work. Its ranges are free as soon
// as it has released its Lease.
func (r replica) left() bool { return r.leaving && r.works.IsEmpty() }
