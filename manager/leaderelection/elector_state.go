package leaderelection

import (
	"time"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// phase is how far a replica has come.
type phase uint8

const (
	// following: somebody else has the lock, or nobody has.
	following phase = iota
	// claiming: the lock is ours, but it was missing, and the user waits for that. Whoever held it when it was deleted may
	// not have noticed, so the work has to wait until that holder has given up.
	claiming
	// leading: the work runs.
	leading
	// releasing: the work has ended, and the lock is given back.
	releasing
	// ended: there is nothing more to do.
	ended
)

// timing is what the configuration says.
type timing struct {
	identity       string
	lease          time.Duration // LeaseDuration
	renew          time.Duration // RenewDeadline
	retry          time.Duration // RetryPeriod
	waitForMissing bool          // WaitForMissing
}

// election is what a replica knows. All times are by its own clock: when *it* sent a request, and
// when *it* saw something. A value does not change; the transitions in elector_machine.go return
// another.
type election struct {
	timing
	phase phase

	// renewed is when the last write was sent that is known to have put or left our name in the lock.
	// It is the sending that counts: nobody can have seen the write before it was sent, so everybody
	// else starts to wait later.
	renewed time.Time
	// leadFrom ends the claim. It is zero if there is none.
	leadFrom time.Time

	sight  sight
	record resourcelock.LeaderElectionRecord // as last seen or written; the last one if it is missing now
	raw    string                            // its bytes, if it was read
	since  time.Time                         // when this replica saw the lock for the first time as it is
	// current means that a write may build on what we know: it was just read, or the last write was
	// ours.
	current bool

	// The last request. A write whose answer got lost has happened or not, or will happen later: sent
	// and mine are what is needed to recognise it.
	asking bool // its answer has not come yet
	asked  do
	sent   time.Time                         // when the last write was sent
	mine   resourcelock.LeaderElectionRecord // what it said
	made   bool                              // it was a create
	read   bool                              // the lock was read in this round, so a failure ends the round

	tryAt time.Time // not before
	why   string    // why it ended, or how the lock came to us
}

// sight is what is known of the lock.
type sight uint8

const (
	unread sight = iota
	missing
	present
)

// step is what to do next.
type step struct {
	do     do
	record resourcelock.LeaderElectionRecord // to be written
	why    string                            // why the lock may be taken
}

type do uint8

const (
	wait   do = iota + 1 // until election.wake
	pause                // the round is over: pause, with jitter
	read                 // get the record
	create               // the record, which is not there
	update               // the record, if it is still the one we know
	giveUp               // the lock was not renewed in time
	finish               // nothing is left to do
)

func newElection(t timing) election { return election{timing: t} }

// holds means that nobody else may take the lock, until the deadline.
func (e election) holds() bool {
	return e.phase == claiming || e.phase == leading || e.phase == releasing
}

// deadline is when the work stops unless the lock is renewed.
func (e election) deadline() time.Time { return e.renewed.Add(e.renew) }

// free is the earliest moment at which somebody else may work.
func (e election) free() time.Time { return e.renewed.Add(e.lease) }

// ours means that the record is one that this process has written. The name alone does not say so: a
// process with the same name, started twice by mistake, would take the lock from the first.
func (e election) ours() bool { return e.holds() || e.wroteIt(e.record) }

// wroteIt recognises our last write.
func (e election) wroteIt(record resourcelock.LeaderElectionRecord) bool {
	return !e.sent.IsZero() && same(record, e.mine)
}

// wake is when to ask for the next step if no answer comes. There is no such time while a replica
// that has nothing to lose waits for an answer.
func (e election) wake() (at time.Time, ok bool) {
	switch {
	case e.holds() && (e.asking || e.deadline().Before(e.tryAt)):
		return e.deadline(), true
	default:
		return e.tryAt, !e.asking
	}
}

// same compares records as a lock keeps them, with microseconds.
func same(a, b resourcelock.LeaderElectionRecord) bool {
	equal := a.AcquireTime.Equal(&b.AcquireTime) && a.RenewTime.Equal(&b.RenewTime)
	a.AcquireTime, a.RenewTime = b.AcquireTime, b.RenewTime
	return equal && a == b
}
