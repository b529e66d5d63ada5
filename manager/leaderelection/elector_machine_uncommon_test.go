package leaderelection

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever held the lock that was deleted may have renewed it after our create was sent, and until the
// server did it. We know only that this was before the answer.
func TestAClaimCountsFromTheAnswer(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(6))
	e = sends(t, e, 10, update, "a claim is renewed").wrote(at(11))
	e = sends(t, e, 16, update, "a claim is renewed").wrote(at(18))
	require.Equal(t, claiming.String(), e.phase.String(), "the answer to the create came at 6 s, so LeaseDuration is over at 21 s")
	e = sends(t, e, 20, update, "a claim is renewed").wrote(at(21.1))
	require.Equal(t, leading.String(), e.phase.String(), "LeaseDuration after the answer")
}

// A Lease has fields that the record does not have, and whoever writes them lives.
func TestEveryChangeOfTheBytesStartsTheWaitAgain(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "raw", at(0))
	e = e.saw(held("other", 3, 0), "raw, and a field that the record does not have", at(10))
	require.Equal(t, pause.String(), e.next(at(24)).do.String(), "the bytes have changed at 10 s, though the record has not")
	require.Equal(t, update.String(), e.next(at(25)).do.String(), "and then nothing more was seen")
}

// The record that we release the lock with has no name. To find it in the lock is no lead.
func TestOurOwnReleaseEndsIt(t *testing.T) {
	e := leader(t).stops(true)
	s := e.next(at(21))
	e = e.sends(s, at(21)).failed(at(22), 0)
	e = sends(t, e, 22, read, "the answer to the release got lost")
	require.Equal(t, finish.String(), e.saw(s.record, "", at(22)).next(at(22)).do.String(), "the release was done; to write more would be to take it again")
}

// What was claimed and then lost is forgotten: the next term may begin at once.
func TestALostClaimLeavesNothingBehind(t *testing.T) {
	e := sends(t, follower().sawNothing(at(0)), 2, create, "it is missing").wrote(at(2.1))
	e = e.failed(at(4), 0).saw(held("", 7, 0), "", at(4))
	e = sends(t, e, 4, update, "somebody else has had it, and has released it").wrote(at(4.1))
	require.Equal(t, leading.String(), e.phase.String(), "a lock that was released is free at once, whatever was claimed before")
}

// A follower that is stopped while it asks for the lock may have it.
func TestAnUncertainWriteIsLookedForAndReleased(t *testing.T) {
	e := follower().saw(held("other", 3, 0), "", at(0))
	s := e.next(at(20))
	require.Equal(t, update.String(), s.do.String(), "the holder has stopped")
	e = e.sends(s, at(20)).failed(at(21), 0).stops(true)
	e = sends(t, e, 21, read, "at once, because others wait for the lock; and before anything is written, because nobody knows who has it")
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
	e = sends(t, e.stops(true), 24, read, "what we have seen is the lock of somebody else: to write now would take it away")
	require.Equal(t, finish.String(), e.saw(held("third", 4, 0), "", at(24)).next(at(24)).do.String(), "it is not ours")
}
