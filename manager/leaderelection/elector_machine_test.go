package leaderelection

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/manager/leaderelection/resourcelock"
)

// at is a time of the replica's clock, in seconds.
func at(seconds float64) time.Time {
	return time.Unix(1e9, 0).UTC().Add(time.Duration(seconds * float64(time.Second)))
}

// follower is a replica "me" that knows nothing yet: 15 s, 10 s and 2 s.
func follower() election {
	t := worldTiming
	t.identity = "me"
	return newElection(t)
}

// held is a record of somebody's. The clock of who wrote it is wrong by a year.
func held(holder string, transitions, renewal int) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{
		HolderIdentity: holder, LeaseDurationSeconds: 15, LeaderTransitions: transitions,
		AcquireTime: metav1.Time{Time: at(-365 * 24 * 3600)}, RenewTime: metav1.Time{Time: at(float64(renewal) - 365*24*3600)},
	}
}

// sends sends what comes next, which has to be this.
func sends(t *testing.T, e election, now float64, what do, why string) election {
	t.Helper()
	s := e.next(at(now))
	require.Equal(t, what.String(), s.do.String(), why)
	return e.sends(s, at(now))
}

// leader took over from "other" at 20 s, in its fourth term.
func leader(t *testing.T) election {
	t.Helper()
	e := sends(t, follower(), 0, read, "the first request")
	e = e.saw(held("other", 3, 0), "raw", at(0))
	e = e.rests(at(18), 0)
	e = sends(t, e, 20, read, "after the pause")
	e = e.saw(held("other", 3, 0), "raw", at(20))
	e = sends(t, e, 20, update, "the holder has not renewed the lock for 20 s")
	e = e.wrote(at(20.1))
	require.Equal(t, leading.String(), e.phase.String(),
		"the lock is ours, and it was not missing before")
	return e
}

func TestAFollowerReadsBeforeItWrites(t *testing.T) {
	require.Equal(t, read.String(), follower().next(at(0)).do.String(),
		"nothing is known of the lock")
}

// A leader whose lock is taken too early works at the same time as the next one.
func TestALockThatIsHeldIsLeftAloneForItsDuration(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "raw", at(100))
	for _, seconds := range []float64{100, 107, 114.999} {
		require.Equal(t, pause.String(), e.next(at(seconds)).do.String(),
			"it was first seen at 100 s, and now it is %g s; what the record says about the "+
				"time is by another clock", seconds)
	}
	s := e.next(at(115))
	require.Equal(t, update.String(), s.do.String(), "the holder must have stopped by now")
	require.Equal(t, "me", s.record.HolderIdentity, "the record that takes the lock has our name")
	require.Equal(t, 4, s.record.LeaderTransitions,
		"one more than before: it is the token of the term")
}

func TestEveryRenewalStartsTheWaitAgain(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "raw", at(0))
	e = e.saw(held("other", 3, 5), "raw 2", at(10))
	require.Equal(t, pause.String(), e.next(at(24)).do.String(),
		"a renewal was seen at 10 s, so the holder may work until 25 s")
	e = e.saw(held("other", 3, 5), "raw 2", at(24))
	require.Equal(t, update.String(), e.next(at(25)).do.String(),
		"the same record was seen again, which is no renewal")
}

// A holder with a longer lease must be given the time that it relies on.
func TestTheLongerOfTwoDurationsCounts(t *testing.T) {
	long := held("other", 3, 0)
	long.LeaseDurationSeconds = 60
	require.Equal(t, pause.String(), follower().saw(long, "", at(0)).next(at(59)).do.String(),
		"the record says 60 s")
	short := held("other", 3, 0)
	short.LeaseDurationSeconds = 1
	require.Equal(t, pause.String(), follower().saw(short, "", at(0)).next(at(14)).do.String(),
		"the record says 1 s and our configuration 15 s; client-go rounds 1.9 s down to 1")
}

func TestAReleasedLockIsTakenWithoutAWait(t *testing.T) {
	s := follower().saw(held("", 3, 0), "", at(0)).next(at(0))
	require.Equal(t, update.String(), s.do.String(), "nobody has it")
	require.Equal(t, 4, s.record.LeaderTransitions, "one more than before")
}

// The others cannot see a write before it was sent, but they may see it long before the answer is
// back. A leader that counts from the answer works for longer than they wait.
func TestTheDeadlineCountsFromTheSendingOfTheWrite(t *testing.T) {
	e := leader(t)
	e = sends(t, e, 22, update, "RetryPeriod after the last one")
	e = e.wrote(at(26))
	require.Equal(t, leading.String(), e.phase.String())
	e = sends(t, e, 26, update, "the answer came late, so the next renewal is due")
	require.Equal(t, wait.String(), e.next(at(33.999)).do.String(),
		"the last renewal was sent at 22 s")
	require.Equal(t, giveUp.String(), e.next(at(34)).do.String(),
		"the next one was due at 24 s, and RenewDeadline is 10 s")
}

func TestALeaderRenewsWithoutReading(t *testing.T) {
	e := leader(t)
	require.Equal(t, wait.String(), e.next(at(21.999)).do.String(), "RetryPeriod is not over")
	s := e.next(at(22))
	require.Equal(t, update.String(), s.do.String(), "it knows the lock: it has written it last")
	require.Equal(t, 4, s.record.LeaderTransitions, "it is still the same term")
	require.True(t, s.record.AcquireTime.Equal(&e.record.AcquireTime), "it is still the same term")
	require.Equal(t, at(22), s.record.RenewTime.UTC())
}

func TestAnAnswerAfterTheDeadlineIsTooLate(t *testing.T) {
	e := sends(t, leader(t), 28, update, "a renewal")
	e = e.wrote(at(32))
	require.Equal(t, giveUp.String(), e.next(at(32)).do.String(),
		"the answer came when the deadline was over: somebody may have the lock as soon as the "+
			"work is expected to have stopped")
}

// The seeds found this one: the answer to a request that was under way when the lock was given up.
func TestALeaderThatHasGivenUpDoesNotComeBack(t *testing.T) {
	e := sends(t, leader(t), 29, update, "a renewal")
	e = e.expires()
	require.Equal(t, ended.String(), e.phase.String())
	e = e.wrote(at(30.5))
	require.Equal(t, finish.String(), e.next(at(31)).do.String(), "its work was told to stop")
}

func TestALeaderThatSeesAnotherNameHasLost(t *testing.T) {
	e := leader(t).failed(at(22), 0)
	e = e.saw(held("other", 5, 0), "", at(22))
	require.Equal(t, ended.String(), e.phase.String(), "another one has the lock")
	e = leader(t).failed(at(22), 0)
	e = e.saw(held("", 5, 0), "", at(22))
	require.Equal(t, ended.String(), e.phase.String(),
		"nobody has the lock, and everybody may take it")
}

func TestALeaderThatSeesAnOlderWriteOfItsOwnGoesOn(t *testing.T) {
	e := leader(t)
	older := e.record
	e = sends(t, e, 22, update, "a renewal").failed(at(23), 0)
	e = sends(t, e, 23, read, "the answer got lost, so the lock has to be read")
	e = e.saw(older, "", at(23))
	require.Equal(t, leading.String(), e.phase.String(),
		"it is our name, and the deadline is not over")
	require.Equal(t, update.String(), e.next(at(23)).do.String(), "the renewal has not arrived")
	require.Equal(t, at(32), e.deadline(), "nothing was renewed")
}

// A program that sets its own times gets what client-go would do, as long as the work has time to stop
// before another replica may lead.
func TestALeaderTriesForRenewDeadlineAndLeavesTimeToStop(t *testing.T) {
	for _, c := range []struct{ lease, renew, retry, leads time.Duration }{
		{15, 10, 2, 12}, // the defaults
		{137, 107, 26, 122},
		{60, 20, 5, 25},
		{10, 8, 2, 9},
		{16, 14, 2, 15},
	} {
		leads := timing{lease: c.lease * time.Second, renew: c.renew * time.Second,
			retry: c.retry * time.Second}.leadsFor()
		require.Equal(t, c.leads*time.Second, leads, "%v", c)
	}
}

// Answers get lost, and what they answered has happened all the same.
func TestAWriteWhoseAnswerGotLostIsRecognised(t *testing.T) {
	e := sends(t, leader(t), 22, update, "a renewal")
	lost := e.mine
	e = e.failed(at(27), 0).saw(lost, "", at(27))
	require.Equal(t, at(34), e.deadline(), "the lock has the renewal that was sent at 22 s")

	e = sends(t, follower().saw(held("", 3, 0), "", at(0)), 0, update, "a released lock")
	lost = e.mine
	e = e.failed(at(5), 0).saw(lost, "", at(7))
	require.Equal(t, leading.String(), e.phase.String(),
		"the lock has our name since 0 s, and the deadline is at 12 s")
	require.Equal(t, at(12), e.deadline())
}

func TestAWriteThatIsRecognisedTooLateHasToBeRepeated(t *testing.T) {
	e := sends(t, follower().saw(held("", 3, 0), "", at(0)), 0, update, "a released lock")
	lost := e.mine
	e = e.failed(at(5), 0).saw(lost, "", at(12))
	require.Equal(t, following.String(), e.phase.String(), "it was sent 12 s ago")
	s := e.next(at(12))
	require.Equal(t, update.String(), s.do.String(),
		"the lock is ours, so there is nobody to wait for")
	require.Equal(t, 4, s.record.LeaderTransitions, "it is still the same term")
}

// Two processes with one name are a mistake, and must not become two leaders.
func TestANameAloneDoesNotMakeTheLockOurs(t *testing.T) {
	e := follower().saw(held("me", 3, 0), "", at(0))
	require.Equal(t, pause.String(), e.next(at(14)).do.String(),
		"this process has not written the record")
	s := e.next(at(15))
	require.Equal(t, update.String(), s.do.String())
	require.Equal(t, 4, s.record.LeaderTransitions, "a new process is a new term")
}

func TestAMissingLockIsReadTwiceBeforeItIsMade(t *testing.T) {
	e := follower().sawNothing(at(0))
	require.Equal(t, pause.String(), e.next(at(0)).do.String(),
		"if it was deleted, its holder makes it again within RetryPeriod")
	e = e.rests(at(0), 0)
	e = sends(t, e, 2, read, "after the pause")
	s := e.sawNothing(at(2)).next(at(2))
	require.Equal(t, create.String(), s.do.String(), "RetryPeriod is over")
	require.Equal(t, 0, s.record.LeaderTransitions, "the first term")
	e = follower().saw(held("other", 3, 0), "", at(0)).sawNothing(at(1))
	require.Equal(t, 4, e.next(at(3)).record.LeaderTransitions,
		"it was deleted, and this replica remembers the term")
}

// Whoever held the lock when it was deleted works until its own deadline.
func TestTheOneThatMakesAMissingLockWaitsBeforeItLeads(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(2.1))
	require.Equal(t, claiming.String(), e.phase.String(),
		"it may have been deleted while somebody worked")
	for now := 4.0; now < 17.1; now += 2 {
		e = sends(t, e, now, update, "a claim is renewed like a lead").wrote(at(now))
		require.Equal(t, claiming.String(), e.phase.String(),
			"the lock was made at 2.1 s, and LeaseDuration is 15 s")
	}
	e = sends(t, e, 18, update, "a renewal").wrote(at(18))
	require.Equal(t, leading.String(), e.phase.String(), "the wait is over")
}

// As in client-go: a new installation works at once.
func TestAMissingLockIsMadeAndLedAtOnceUnlessTheUserWaitsForIt(t *testing.T) {
	e := follower()
	e.waitForMissing = false
	e = sends(t, e.sawNothing(at(0)), 0, create, "nobody has it").wrote(at(0.1))
	require.Equal(t, leading.String(), e.phase.String(), "WaitForMissing is not set")
}

func TestAClaimThatSeesAnotherNameFollows(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(2.1))
	e = e.failed(at(4), 0).saw(held("other", 7, 0), "", at(4))
	require.Equal(t, following.String(), e.phase.String(),
		"its work has not begun, so nothing is lost")
	require.Equal(t, pause.String(), e.next(at(18)).do.String(), "somebody else has it")
}

func TestALeaderMakesItsLockAgain(t *testing.T) {
	e := leader(t).failed(at(22), 0).sawNothing(at(22))
	require.Equal(t, leading.String(), e.phase.String(), "the deadline is not over")
	s := e.next(at(22))
	require.Equal(t, create.String(), s.do.String(), "somebody has deleted it")
	require.Equal(t, 4, s.record.LeaderTransitions, "it is still the same term")
	e = e.sends(s, at(22)).wrote(at(22.1))
	require.Equal(t, leading.String(), e.phase.String(), "nobody else can have worked in between")
	require.Equal(t, at(34), e.deadline())
}

func TestTheDeadlineCountsEvenWhileAnAnswerIsOnItsWay(t *testing.T) {
	e := sends(t, leader(t), 25, update, "a renewal")
	require.Equal(t, wait.String(), e.next(at(31)).do.String(), "one request at a time")
	require.Equal(t, giveUp.String(), e.next(at(32)).do.String(), "the answer may never come")
	e = sends(t, follower(), 0, read, "the first request")
	require.Equal(t, wait.String(), e.next(at(100)).do.String(), "one request at a time")
}

func TestALockIsReleasedWithoutAName(t *testing.T) {
	e := leader(t).stops(true)
	s := e.next(at(21))
	require.Equal(t, update.String(), s.do.String(), "at once: others wait for it")
	require.Empty(t, s.record.HolderIdentity, "a record with a name is a renewal")
	require.Equal(t, 4, s.record.LeaderTransitions, "the next one counts on from here")
	e = e.sends(s, at(21)).wrote(at(21.1))
	require.Equal(t, finish.String(), e.next(at(22)).do.String())
}

func TestALockThatSomebodyElseHasIsNotReleased(t *testing.T) {
	e := leader(t).failed(at(21), 0).stops(true)
	e = sends(t, e, 21, read, "the last renewal is uncertain")
	require.Equal(t, finish.String(),
		e.saw(held("other", 5, 0), "", at(21)).next(at(22)).do.String(), "it is no longer ours")
}

func TestNothingIsReleasedThatIsNotToBe(t *testing.T) {
	require.Equal(t, finish.String(), leader(t).stops(false).next(at(22)).do.String(),
		"ReleaseOnCancel is not set")
	require.Equal(t, finish.String(), follower().stops(true).next(at(22)).do.String(),
		"a follower has nothing to release")
	claim := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(2.1))
	require.Equal(t, finish.String(), claim.stops(true).next(at(5)).do.String(),
		"whoever takes a lock that was released does not wait; and this one was missing 3 s ago")
}

// Followers that come back at the same moment ask the server all at once.
func TestOnlyFollowersPauseAtRandom(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "", at(0))
	require.Equal(t, at(2), e.rests(at(0), 0).tryAt)
	require.Equal(t, at(4.4), e.rests(at(0), 1).tryAt, "RetryPeriod, and 1.2 times as much")
	require.Equal(t, at(25), leader(t).rests(at(23), 1).tryAt, "a leader has no time for it")
}

func (p phase) String() string {
	return [...]string{"following", "claiming", "leading", "releasing", "ended"}[p]
}

func (d do) String() string {
	return [...]string{"nothing", "wait", "pause", "read", "create", "update", "give up",
		"finish"}[d]
}

// Whoever held the lock that was deleted may have renewed it after our create was sent, and until
// the server did it. We know only that this was before the answer.
func TestAClaimCountsFromTheAnswer(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(6))
	e = sends(t, e, 10, update, "a claim is renewed").wrote(at(11))
	e = sends(t, e, 16, update, "a claim is renewed").wrote(at(18))
	require.Equal(t, claiming.String(), e.phase.String(),
		"the answer to the create came at 6 s, so LeaseDuration is over at 21 s")
	e = sends(t, e, 20, update, "a claim is renewed").wrote(at(21.1))
	require.Equal(t, leading.String(), e.phase.String(), "LeaseDuration after the answer")
}

// A Lease has fields that the record does not have, and whoever writes them lives.
func TestEveryChangeOfTheBytesStartsTheWaitAgain(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "raw", at(0))
	e = e.saw(held("other", 3, 0), "raw, and a field that the record does not have", at(10))
	require.Equal(t, pause.String(), e.next(at(24)).do.String(),
		"the bytes have changed at 10 s, though the record has not")
	require.Equal(t, update.String(), e.next(at(25)).do.String(), "and then nothing more was seen")
}

// The record that we release the lock with has no name. To find it in the lock is no lead.
func TestOurOwnReleaseEndsIt(t *testing.T) {
	e := leader(t).stops(true)
	s := e.next(at(21))
	e = e.sends(s, at(21)).failed(at(22), 0)
	e = sends(t, e, 22, read, "the answer to the release got lost")
	require.Equal(t, finish.String(), e.saw(s.record, "", at(22)).next(at(22)).do.String(),
		"the release was done; to write more would be to take it again")
}

// What was claimed and then lost is forgotten: the next term may begin at once.
func TestALostClaimLeavesNothingBehind(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(2.1))
	e = e.failed(at(4), 0).saw(held("", 7, 0), "", at(4))
	e = sends(t, e, 4, update, "somebody else has had it, and has released it").wrote(at(4.1))
	require.Equal(t, leading.String(), e.phase.String(),
		"a lock that was released is free at once, whatever was claimed before")
}

// A follower that is stopped while it asks for the lock may have it.
func TestAnUncertainWriteIsLookedForAndReleased(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "", at(0))
	s := e.next(at(20))
	require.Equal(t, update.String(), s.do.String(), "the holder has stopped")
	e = e.sends(s, at(20)).failed(at(21), 0).stops(true)
	e = sends(t, e, 21, read,
		"at once, because others wait for the lock; and before anything is written, because "+
			"nobody knows who has it")
	e = e.saw(s.record, "", at(21))
	next := e.next(at(21))
	require.Equal(t, update.String(), next.do.String(), "the lock has our name, and nobody works")
	require.Empty(t, next.record.HolderIdentity, "it is released")
}

// A write that got lost long ago may still happen, and so may what somebody else writes.
func TestAnUncertainWriteIsLookedForEvenIfAnotherNameWasSeenSince(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "", at(0))
	e = sends(t, e, 20, update, "the holder has stopped").failed(at(21), 0)
	e = sends(t, e, 24, read, "the next round").saw(held("third", 4, 0), "", at(24))
	e = sends(t, e.stops(true), 24, read,
		"what we have seen is the lock of somebody else: to write now would take it away")
	require.Equal(t, finish.String(),
		e.saw(held("third", 4, 0), "", at(24)).next(at(24)).do.String(), "it is not ours")
}
