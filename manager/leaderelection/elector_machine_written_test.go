package leaderelection

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A lock that was deleted and made again has a holder who lives.
func TestEveryChangeStartsTheWaitAgainEvenIfItIsALockThatWasMissing(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "raw", at(0)).sawNothing(at(5))
	e = e.saw(held("other", 3, 0), "raw", at(10))
	require.Equal(t, pause.String(), e.next(at(24)).do.String(),
		"it was missing until 10 s, whatever was seen before")
	require.Equal(t, update.String(), e.next(at(25)).do.String(), "and nothing was seen since")
}

// The others rely on the duration that the record says, and it has whole seconds only.
func TestTheLongerOfTwoDurationsIsWrittenInWholeSeconds(t *testing.T) {
	for _, c := range []struct {
		lease time.Duration
		want  int
	}{{15 * time.Second, 15}, {14*time.Second + 1, 15}, {15*time.Second - 1, 15},
		{15*time.Second + 1, 16}} {
		e := follower()
		e.lease = c.lease
		s := e.saw(held("", 3, 0), "", at(0)).next(at(0))
		require.Equal(t, c.want, s.record.LeaseDurationSeconds,
			"LeaseDuration is %s, and nobody may wait for less", c.lease)
	}
}

// A record that comes back with other times than were written is not recognised.
func TestAWriteWhoseTimesAreRoundedIsRecognised(t *testing.T) {
	now := at(100).Add(123456789 * time.Nanosecond).In(time.FixedZone("elsewhere", 3600))
	s := follower().saw(held("", 3, 0), "", at(0)).next(now)
	want := at(100).Add(123456 * time.Microsecond)
	require.Equal(t, want, s.record.AcquireTime.Time, "a Lease keeps microseconds")
	require.Equal(t, want, s.record.RenewTime.Time, "a Lease keeps microseconds")
	s = leader(t).stops(true).next(at(21).Add(time.Nanosecond))
	require.Equal(t, at(21), s.record.RenewTime.Time)
	require.Equal(t, at(21), s.record.AcquireTime.Time)
	require.Equal(t, 1, s.record.LeaseDurationSeconds,
		"who waits in spite of the release waits for a second")
}

// The log says why a lock was taken, and people look there when two replicas have worked.
func TestAWriteWithAReasonSaysIt(t *testing.T) {
	require.Equal(t, `"other" has not renewed it for 15s`,
		follower().saw(held("other", 3, 0), "", at(0)).next(at(15)).why)
	require.Equal(t, "it was released", follower().saw(held("", 3, 0), "", at(0)).next(at(0)).why)
	require.Equal(t, "nobody has it", follower().sawNothing(at(0)).next(at(2)).why)
	require.Equal(t, "it is ours", leader(t).next(at(22)).why)
	require.Equal(t, `"other" has not renewed it for 15s`, leader(t).why,
		"a leader remembers how it has come to the lock")
	e := sends(t, leader(t), 22, update, "a renewal")
	require.Equal(t, `"other" has it`, e.failed(at(23), 0).saw(held("other", 5, 0), "", at(23)).why)
	require.Equal(t, "it could not be renewed for 12s", leader(t).expires().why)
}

func TestALockIsReleasedUnlessSomebodyHasDeletedIt(t *testing.T) {
	e := leader(t).failed(at(21), 0).stops(true)
	e = sends(t, e, 21, read, "the last renewal is uncertain").sawNothing(at(21))
	require.Equal(t, finish.String(), e.next(at(21)).do.String(),
		"to make a lock, only to release it, helps nobody")
}

// Somebody may have led when the lock was deleted. A lock that is released would be taken at once.
func TestNothingIsReleasedThatWasMadeAMomentAgo(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").failed(at(3), 0)
	require.Equal(t, finish.String(), e.stops(true).next(at(3)).do.String(),
		"the lock may be ours, and whoever had it may still work")

	e = sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(14.1))
	require.Equal(t, following.String(), e.phase.String(), "the answer came after the deadline")
	e = sends(t, e, 14.1, update, "it is ours").failed(at(14.5), 0)
	require.Equal(t, finish.String(), e.stops(true).next(at(14.5)).do.String(),
		"it was made 12 s ago, and LeaseDuration is 15 s")

	e = leader(t).stops(false)
	require.Equal(t, "no longer wanted", e.why)
	e = sends(t, follower().saw(held("other", 3, 0), "", at(0)), 15, update,
		"the holder has stopped").failed(at(16), 0)
	require.Equal(t, finish.String(), e.stops(false).next(at(16)).do.String(),
		"ReleaseOnCancel is not set")
}

// A claim that has lost its lock to the clock starts over, and one that leads has ended.
func TestAClaimThatIsNotRenewedFollows(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(2.1))
	require.Equal(t, wait.String(), e.next(at(3.9)).do.String())
	require.Equal(t, giveUp.String(), e.next(at(14)).do.String(), "RenewDeadline is over")
	require.Equal(t, following.String(), e.expires().phase.String(), "its work has not begun")
}

// A replica that asks again and again at once, because its requests fail, keeps a server down that
// is coming back.
func TestAFollowerReadsOnceInARound(t *testing.T) {
	e := sends(t, follower(), 0, read, "the first request").failed(at(1), 1)
	require.Equal(t, at(5.4), e.tryAt, "the read has failed, so the round is over")
	e = sends(t, follower(), 0, read, "the first request").saw(held("", 3, 0), "", at(0))
	e = sends(t, e, 0, update, "nobody has it").failed(at(1), 1)
	require.Equal(t, at(5.4), e.tryAt,
		"the lock was read in this round, and somebody else was quicker")
	e = sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").failed(at(3), 1)
	require.Equal(t, at(7.4), e.tryAt,
		"it was looked for in this round, and somebody else was quicker")
	e = sends(t, e.rests(at(3), 0), 5, read, "a new round").saw(held("other", 0, 0), "",
		at(5)).rests(at(5), 0)
	require.Equal(t, read.String(), e.next(at(7)).do.String(),
		"what was read in another round is not relied on")
}

// The read is not a write, and does not make us forget the one that is looked for.
func TestAWriteWhoseAnswerGotLostIsRecognisedByTheReadThatLooksForIt(t *testing.T) {
	e := sends(t, leader(t), 22, update, "a renewal")
	lost := e.mine
	e = sends(t, e.failed(at(27), 0), 27, read, "the answer got lost").saw(lost, "", at(27.5))
	require.Equal(t, at(34), e.deadline(), "the lock has the renewal that was sent at 22 s")
}

// Whoever waits for an answer that has come waits until its time is over.
func TestALockIsReleasedAndNoAnswerIsWaitedFor(t *testing.T) {
	e := leader(t).stops(true)
	require.False(t, sends(t, e, 21, update, "the release").wrote(at(21.1)).asking)
	e = sends(t, leader(t).failed(at(21), 0).stops(true), 21, read, "the last renewal is uncertain")
	require.False(t, e.sawNothing(at(21)).asking)
}

// The work of a leader that has lost its lock may still be ending. Somebody else has the lock, or
// takes it soon.
func TestNothingIsReleasedByALeaderThatHasLostItsLock(t *testing.T) {
	e := sends(t, leader(t), 22, update, "a renewal").expires()
	require.Equal(t, finish.String(), e.stops(true).next(at(33)).do.String())
}

// It was made long ago by then, and a write that nobody has answered may be the one that has taken
// it.
func TestAnUncertainWriteIsReleasedEvenIfTheLockWasMadeOnce(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing")
	made := e.mine
	e = e.wrote(at(14.1))
	e = sends(t, e, 14.1, update, "it is ours").failed(at(15), 0)
	e = sends(t, e, 15, read, "the answer got lost").saw(made, "", at(15)).rests(at(15), 0)
	e = sends(t, e, 30, read, "after the pause").saw(made, "", at(30))
	e = sends(t, e, 30, update, "the lock was not renewed for LeaseDuration").failed(at(31),
		0).stops(true)
	require.Equal(t, read.String(), e.next(at(31)).do.String(),
		"the lock may have our name, and nobody works")
}
