package leaderelection

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// phase is how far a replica has come.
type phase uint8

const (
	// following: another replica has the lock, or none has.
	following phase = iota
	// claiming: we have the lock, but it was missing, and WaitForMissing is set. The replica that
	// held it when it was deleted may not have noticed, so the work waits until that replica has
	// given up.
	claiming
	// leading: the work runs.
	leading
	// releasing: the work has ended, and the lock is being released.
	releasing
	// ended: there's nothing more to do.
	ended
)

// timing is taken from the configuration.
type timing struct {
	identity       string
	lease          time.Duration // LeaseDuration
	renew          time.Duration // RenewDeadline
	retry          time.Duration // RetryPeriod
	waitForMissing bool          // WaitForMissing
}

// leadsFor is how long a leader leads after it sent its last successful renewal. The next one is due
// RetryPeriod later, and then it tries for RenewDeadline, as with client-go. But with 15 s, 14 s and
// 2 s that would be longer than the lease, so half of what RenewDeadline leaves of it is for stopping.
func (t timing) leadsFor() time.Duration {
	return min(t.retry+t.renew, (t.lease+t.renew)/2)
}

// election is what a replica knows. All times are by its own clock: when *it* sent a request, and
// when *it* saw an answer. A value doesn't change; the transitions in this file return another.
type election struct {
	timing
	phase phase

	// renewed is when the last successful write of our name was sent. The time of sending counts:
	// no replica can have seen the write before it was sent, so the others start to wait later.
	renewed time.Time
	// leadFrom is when a claim ends and the work may start; zero if there's no claim.
	leadFrom time.Time

	observed observation
	record   resourcelock.LeaderElectionRecord // as last seen or written, even if it's missing now
	raw      string                            // the record's bytes, if it was read
	since    time.Time                         // when this replica first saw the lock in this state
	// doubted means that the record is of an earlier term than the one we saw before: the API server
	// was restored from a backup, and the holder of the later term may still work.
	doubted bool
	// current means that a write may build on what we know: we have just read the lock, or the last
	// write was ours.
	current bool

	// The last request. If the answer of a write is lost, the write may have happened, or not, or
	// may happen later: sent and mine let us recognise it.
	asking bool // its answer hasn't come yet
	asked  do
	sent   time.Time                         // when the last write was sent
	mine   resourcelock.LeaderElectionRecord // what it wrote
	made   bool                              // it was a create
	grace  time.Duration                     // patience with the holder before that write
	read   bool                              // in this round, so a failure ends the round

	tryAt time.Time // send no request before
	why   string    // why the election ended, or how we got the lock
}

// observation is what we know about the lock.
type observation uint8

const (
	unread observation = iota
	missing
	present
)

// step is what to do next.
type step struct {
	do     do
	record resourcelock.LeaderElectionRecord // the record to write
	why    string                            // why the lock may be taken
}

type do uint8

const (
	wait   do = iota + 1 // until election.wake
	pause                // the round is over: pause, with jitter
	read                 // read the record
	create               // create the record, which is missing
	update               // update the record, if it's still the one we know
	giveUp               // the lock wasn't renewed in time
	finish               // nothing is left to do
)

func newElection(t timing) election { return election{timing: t} }

// holds returns true until the deadline: no other replica may take the lock.
func (e election) holds() bool {
	return e.phase == claiming || e.phase == leading || e.phase == releasing
}

// deadline is when the work stops unless the lock is renewed.
func (e election) deadline() time.Time { return e.renewed.Add(e.leadsFor()) }

// free is the earliest moment at which another replica may work.
func (e election) free() time.Time { return e.renewed.Add(e.lease) }

// ours returns true if this process has written the record. The name alone doesn't prove it: a
// process with the same name, started twice by mistake, would take the lock from the first.
func (e election) ours() bool { return e.holds() || e.wroteIt(e.record) }

// wroteIt recognises our last write.
func (e election) wroteIt(record resourcelock.LeaderElectionRecord) bool {
	return !e.sent.IsZero() && same(record, e.mine)
}

// wake is when to call next again if no answer comes. There's no such time while a replica that
// doesn't hold the lock waits for an answer.
func (e election) wake() (at time.Time, ok bool) {
	switch {
	case e.holds() && (e.asking || e.deadline().Before(e.tryAt)):
		return e.deadline(), true
	default:
		return e.tryAt, !e.asking
	}
}

// same compares records in microseconds, as a lock stores them.
func same(a, b resourcelock.LeaderElectionRecord) bool {
	equal := a.AcquireTime.Equal(&b.AcquireTime) && a.RenewTime.Equal(&b.RenewTime)
	a.AcquireTime, a.RenewTime = b.AcquireTime, b.RenewTime
	return equal && a == b
}

// This file decides. It has no clock, no lock and no goroutine: each function gets the replica's
// own time, and the lock's answer, and returns a step or the next state.
//
// Two rules keep two replicas from working at the same time, as long as their clocks run at about
// the same speed:
//
//	the leader      stops at renewed + RetryPeriod + RenewDeadline, and renewed is when a write
//	                was *sent*
//	every follower  waits until since + LeaseDuration, and since is when a record was *seen*
//
// A record is seen after it was sent, and the leader's time is cut so that it's shorter than
// LeaseDuration. The clocks don't have to show the same time.

// next returns the next step.
func (e election) next(now time.Time) step {
	switch {
	case e.phase == ended:
		return step{do: finish}
	case e.holds() && !now.Before(e.deadline()):
		return step{do: giveUp}
	case e.asking || now.Before(e.tryAt):
		return step{do: wait}
	case !e.current:
		return step{do: read}
	case e.phase == releasing:
		return step{do: update, record: e.released(now)}
	case e.observed == missing && e.waitForMissing && !e.holds() &&
		now.Before(e.since.Add(e.retry)):
		return step{do: pause} // the lock may have been deleted, and a live holder creates it again
	case e.observed == missing:
		return step{do: create, record: e.taking(now), why: "nobody has it"}
	case e.taken(now):
		return step{do: pause}
	default:
		return step{do: update, record: e.taking(now), why: e.excuse()}
	}
}

// taken returns true if another replica has the lock, and may work.
func (e election) taken(now time.Time) bool {
	held := e.record.HolderIdentity != "" || e.doubted
	return held && !e.ours() && now.Before(e.since.Add(e.patience()))
}

// patience is how long we wait for the holder: the longer of its own lease duration, which it
// relies on, and ours. A record with less than our configuration was rounded down, or edited by
// hand.
func (e election) patience() time.Duration {
	return max(e.lease, time.Duration(e.record.LeaseDurationSeconds)*time.Second)
}

// sends notes a request that is being sent.
func (e election) sends(s step, now time.Time) election {
	e.asking, e.asked = true, s.do
	if s.do == create || s.do == update {
		e.sent, e.mine, e.made, e.why = now, s.record, s.do == create, s.why
		e.grace = e.patience()
	}
	return e
}

// saw handles a record that was read.
func (e election) saw(
	record resourcelock.LeaderElectionRecord, raw string, now time.Time,
) election {
	if e.observed != present || raw != e.raw || !same(record, e.record) {
		e.since = now
		e.doubted = record.LeaderTransitions < e.record.LeaderTransitions
	}
	e.asking, e.read = false, true
	e.observed, e.record, e.raw, e.current = present, record, raw, true
	switch {
	case record.HolderIdentity != "" && e.wroteIt(record):
		return e.took(now) // the answer was lost, but the write succeeded
	case record.HolderIdentity == e.identity && e.holds():
		return e // one of our earlier writes, or another client has edited another field
	default:
		e.leadFrom = time.Time{}
		return e.lose(fmt.Sprintf("%q has it", record.HolderIdentity))
	}
}

// sawNothing handles a read that found no lock.
func (e election) sawNothing(now time.Time) election {
	if e.observed != missing {
		e.since = now
	}
	e.asking, e.observed, e.current, e.read = false, missing, true, true
	if e.phase == releasing {
		return e.lose("it was deleted")
	}
	return e
}

// wrote handles a successful write.
func (e election) wrote(now time.Time) election {
	e.asking, e.read = false, false
	e.observed, e.record, e.raw, e.current = present, e.mine, "", true
	if e.mine.HolderIdentity == "" {
		e.phase, e.why = ended, "released"
		return e
	}
	return e.took(now)
}

// took handles a write of ours that the lock has.
func (e election) took(now time.Time) election {
	if e.made && e.phase != leading && e.waitForMissing {
		// The previous holder sent its last renewal before the lock was deleted, so before this
		// moment.
		e.leadFrom = now.Add(e.grace)
	}
	late := !now.Before(e.sent.Add(e.leadsFor()))
	if late || e.phase == ended || e.holds() && !now.Before(e.deadline()) {
		return e // too late to rely on it; next gives up, or writes again
	}
	e.renewed, e.tryAt = e.sent, e.sent.Add(e.retry)
	switch {
	case e.phase == releasing:
		e.tryAt = now
	case now.Before(e.leadFrom) && e.phase != leading:
		e.phase = claiming
	default:
		e.phase, e.leadFrom = leading, time.Time{}
	}
	return e
}

// failed handles a failed request. A failure doesn't prove that the write didn't happen: even a
// conflict may come from our own write, which the network sent twice.
func (e election) failed(now time.Time, lot float64) election {
	e.asking, e.current = false, false
	if e.asked != read && !e.read {
		e.tryAt = now // the state we knew is out of date; read at once
		return e
	}
	return e.rests(now, lot)
}

// rests ends a round. Followers pause for random times, so that they don't all write at once; lot
// is from 0 to 1.
func (e election) rests(now time.Time, lot float64) election {
	span := e.retry
	if !e.holds() {
		span += time.Duration(lot * JitterFactor * float64(e.retry))
	}
	e.current, e.read, e.tryAt = false, false, now.Add(span)
	return e
}

// expires handles a lock that wasn't renewed in time.
func (e election) expires() election {
	return e.lose(fmt.Sprintf("it could not be renewed for %s", e.leadsFor()))
}

// lose ends the election of a leader. A claim hasn't begun to work, so it may try again.
func (e election) lose(why string) election {
	switch e.phase {
	case claiming:
		e.phase = following
	case leading, releasing:
		e.phase, e.why = ended, why
	}
	return e
}

// stops handles the end of the work, when no more work is wanted.
func (e election) stops(release bool) election {
	unsure := e.phase == following && !e.sent.IsZero() && !e.made && e.leadFrom.IsZero()
	switch {
	case release && e.phase == leading:
		e.phase, e.tryAt = releasing, time.Time{}
	case release && unsure: // the lock may have our name, although no work runs
		e.phase, e.renewed, e.tryAt, e.current = releasing, e.sent, time.Time{}, false
	default:
		// A claim isn't released: the next replica would lead at once.
		e.phase, e.why = ended, "no longer wanted"
	}
	return e
}

// taking is the record that takes or renews the lock.
func (e election) taking(now time.Time) resourcelock.LeaderElectionRecord {
	record := resourcelock.LeaderElectionRecord{
		HolderIdentity:       e.identity,
		LeaseDurationSeconds: int((e.lease + time.Second - 1) / time.Second),
		AcquireTime:          onTheWire(now),
		RenewTime:            onTheWire(now),
	}
	switch {
	case e.ours():
		record.AcquireTime = e.record.AcquireTime
		record.LeaderTransitions = e.record.LeaderTransitions
	case e.record != resourcelock.LeaderElectionRecord{}:
		record.LeaderTransitions = e.record.LeaderTransitions + 1
	}
	return record
}

// released is the record without a holder. It keeps a lease duration for replicas that wait for one
// even so.
func (e election) released(now time.Time) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1,
		AcquireTime:          onTheWire(now),
		RenewTime:            onTheWire(now),
		LeaderTransitions:    e.record.LeaderTransitions,
	}
}

// excuse is the reason why we may take the lock.
func (e election) excuse() string {
	switch {
	case e.ours():
		return "it is ours"
	case e.record.HolderIdentity == "":
		return "it was released"
	default:
		return fmt.Sprintf("%q has not renewed it for %s", e.record.HolderIdentity, e.patience())
	}
}

// onTheWire rounds a time as a Lease does, so that we recognise a record when we read it back.
func onTheWire(t time.Time) metav1.Time {
	return metav1.Time{Time: t.UTC().Truncate(time.Microsecond)}
}
