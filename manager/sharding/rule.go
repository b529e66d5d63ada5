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

// table says who has which range. It's stored in one object.
type table struct {
	generation int64    // counts the writes
	holders    []string // of each range; "" if nobody has it
}

// replica is what one replica knows and does. A value doesn't change; the methods that return one
// return another.
type replica struct {
	me       string
	leaving  bool // stops its work, and then releases its Lease
	patience time.Duration
	weights  []int

	table   table  // the newest that was read or written; without holders if there was none
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

func newReplica(me string, count int, patience time.Duration) replica {
	return replica{me: me, patience: patience, works: make(Set, count), stops: make(Set, count), unsure: make(Set, count)}
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
	first := r.version == "" && r.table.holders == nil && !r.current
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
		r.unsure, r.unsureUntil = make(Set, len(r.works)), 0
	}
	return r
}

// want is the plan.
func (r replica) want() []string { return plan(r.holders(), r.alive, r.weights) }

// holders are those of the table, without those that are gone. Before there is a table, nobody has
// anything.
func (r replica) holders() []string {
	holders := make([]string, len(r.works))
	copy(holders, r.table.holders)
	for i, holder := range holders {
		if slices.Contains(r.gone, holder) {
			holders[i] = ""
		}
	}
	return holders
}

// acts returns what begins and what stops now. The caller makes it so: before it does anything else
// it stops what must stop, and then begins what may.
func (r replica) acts(now time.Time) (begin, stop Set) {
	begin, stop = make(Set, len(r.works)), make(Set, len(r.works))
	if r.leaving || r.table.holders == nil {
		for i, works := range r.works {
			stop[i] = works && !r.stops[i]
		}
		return begin, stop
	}
	for i, to := range r.want() {
		mine := r.table.holders[i] == r.me && to == r.me
		if r.works[i] {
			stop[i] = !mine && !r.stops[i]
		} else {
			begin[i] = mine && !r.unsure[i] && !now.Before(r.quiet)
		}
	}
	return begin, stop
}

// begun, stopping and ended note what the caller has made so.
func (r replica) begun(ranges Set) replica {
	r.works = with(r.works, ranges, true)
	return r
}

func (r replica) stopping(ranges Set) replica {
	r.stops = with(r.stops, ranges, true)
	return r
}

func (r replica) ended(ranges Set) replica {
	r.works, r.stops = with(r.works, ranges, false), with(r.stops, ranges, false)
	return r
}

func with(set, ranges Set, value bool) Set {
	set = slices.Clone(set)
	for i, is := range ranges {
		if is {
			set[i] = value
		}
	}
	return set
}

// writes returns the table to write, if there's anything to write: what others take, give or hold
// stays as it is.
func (r replica) writes(now time.Time) (t table, needed bool) {
	missing := r.table.holders == nil
	if !r.current || r.asking || r.leaving || missing && now.Before(r.quiet) {
		return table{}, false
	}
	t = table{r.table.generation + 1, make([]string, len(r.works))}
	copy(t.holders, r.table.holders)
	for i, to := range r.want() {
		holder := t.holders[i]
		free := holder == "" || slices.Contains(r.gone, holder)
		if holder == r.me && to != r.me && !r.works[i] || free && to == r.me {
			t.holders[i] = to
		}
	}
	return t, r.behind || r.unsureUntil > 0 || missing || !slices.Equal(t.holders, r.table.holders)
}

// sends notes that the table is being written. If its answer is lost, the write may have happened,
// or not, or may happen later, even after another one that was sent since.
func (r replica) sends(t table) replica {
	r.asked, r.asking, r.unsureUntil = t, true, t.generation
	r.unsure = slices.Clone(r.unsure)
	for i, holder := range r.table.holders {
		r.unsure[i] = r.unsure[i] || holder == r.me && t.holders[i] != r.me
	}
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
func (r replica) left() bool { return r.leaving && !slices.Contains(r.works, true) }
