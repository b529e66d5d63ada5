package informer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
)

// Function: machine.streamFailed
func TestAStreamThatTheServerRefusesIsAListFromThenOn(t *testing.T) {
	m, act := streams.after(begins, refuses)
	require.Equal(t, doList, act.do, "a stream that is refused must become a list, without a pause")
	require.Equal(t, deliverDiscard, act.deliver, "what came before must be forgotten")
	require.NotEmpty(t, act.reason, "the health must say why it lists")
	m, act = m.after(listed("100"), opens, expires, rests)
	require.Equal(t, action{do: doList, version: "100", whole: true}, act, "the server said that it does not understand streams: it need not be asked again")
	require.Equal(t, StateListing, m.state)
}

// A server that stalls during an upgrade would be listed for months, at every
// relist, by all its clients.
// Function: machine.streamFailed
func TestAStreamThatStallsIsAListOnlyThisTime(t *testing.T) {
	for name, story := range inorder.Map(map[string][]input{
		"stalls": {begins, opens, comes(watch.Added, "90"), stalls}, "gets no answer": {begins, stalls},
	}) {
		m, act := streams.after(story...)
		require.Equal(t, doList, act.do, "a stream that %s must become a list, without a pause", name)
		require.Equal(t, deliverDiscard, act.deliver, "what came of a stream that %s must be forgotten", name)
		require.NotEmpty(t, act.reason, "the health must say why it lists")
		require.Equal(t, tries, m.failedStreams, "a stream that %s counts as many as tries: it has cost as much time", name)
		_, act = m.after(listed("100"), opens, expires, rests)
		require.Equal(t, doStream, act.do, "a stream that %s is no refusal: the next view must be a stream again", name)
		_, act = m.after(breaks, rests)
		require.Equal(t, doStream, act.do, "the list in its place failed, too: streams have their turn again")
	}
}

// Function: machine.streamFailed
func TestAStreamThatBreaksIsTriedAgainButNotForever(t *testing.T) {
	m, act := streams.after(begins, opens, comes(watch.Added, "90"), breaks)
	require.Equal(t, doPause, act.do, "after a failure there must be a pause")
	require.Equal(t, deliverDiscard, act.deliver, "half a stream is nothing")
	m, act = m.after(rests)
	require.Equal(t, doStream, act.do, "a broken connection says nothing about what the server can do")
	m, act = m.after(opens, breaks, rests)
	require.Equal(t, doStream, act.do, "nor do two of them")
	m, act = m.after(opens, breaks, rests)
	require.Equal(t, doList, act.do, "what breaks three times in the middle may be too long for a proxy: a list comes in pieces")
	_, act = m.after(listed("100"), opens, expires, rests)
	require.Equal(t, doStream, act.do, "three broken connections are no refusal: the next view must be a stream again")
}

// A proxy that dislikes sendInitialEvents, or a network that eats the request,
// would keep a program from ever being synced.
// Function: machine.streamFailed
func TestAStreamThatCannotBeOpenedBecomesAListSoon(t *testing.T) {
	m, act := streams.after(begins)
	for range tries {
		require.Equal(t, doStream, act.do, "one or two failures say nothing about streams")
		m, act = m.after(breaks)
		require.Equal(t, doPause, act.do, "after a failure there must be a pause")
		m, act = m.after(rests)
	}
	require.Equal(t, doList, act.do, "three streams in a row that could not be opened: a list may get through")
	_, act = m.after(firstPage("100"), expires)
	require.Equal(t, doList, act.do, "a list that starts over at once is the same view")
	failed, act := m.after(breaks, rests)
	require.Equal(t, doStream, act.do, "the list failed, too: so it is not streams")
	_, act = failed.after(breaks, rests, breaks, rests, breaks, rests)
	require.Equal(t, doList, act.do, "and so on by turns")
	m, act = m.after(listed("100"), opens, expires, rests)
	require.Equal(t, doStream, act.do, "the next view may be a stream again: nothing is known of the server")
	_, act = m.after(breaks, rests, breaks, rests)
	require.Equal(t, doStream, act.do, "and failures must be counted from zero after a whole view")
}

// Function: machine.streamFailed
func TestAServerThatSaysWhenToComeBackMeansTheTimeAndNotTheStream(t *testing.T) {
	m, act := streams.after(begins)
	for range 2 * tries {
		m, act = m.after(tooBusy)
		require.Equal(t, doPause, act.do)
		require.GreaterOrEqual(t, act.pause, tooBusy.asked, "the server said when to come back")
		m, act = m.after(rests)
		require.Equal(t, doStream, act.do, "a server that is busy must not be asked for something more expensive")
	}
}

// Function: machine.ended
func TestAStreamThatEndsBeforeTheViewIsWholeIsAFailure(t *testing.T) {
	m, act := streams.after(begins, opens, comes(watch.Added, "90"), endsLate)
	require.Equal(t, doPause, act.do, "the server ended the stream in good order, but the view is not whole: a failure, however long it lived")
	require.Equal(t, deliverDiscard, act.deliver, "half a stream is nothing")
	_, act = m.after(rests)
	require.Equal(t, doStream, act.do, "there is no cursor to watch from: ask for the whole view again")
}

// Function: machine.listFailed
func TestAnExpiredTokenLeadsToAListInOnePiece(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), expires)
	require.Equal(t, doList, act.do, "pages of another moment must not be mixed in: start over")
	require.True(t, act.whole, "a list in one piece has no token that can expire")
	require.Equal(t, deliverDiscard, act.deliver, "the pages of the lost moment must be forgotten")
	_, act = m.after(breaks, rests)
	require.False(t, act.whole, "if one piece is too much, pages are worth another try")
}

// A server that forgets each list between two of its pages would be asked ten
// thousand times a second.
// Function: machine.listFailed
func TestAnExpiredTokenOfAListInOnePieceIsAFailure(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), expires)
	require.True(t, act.whole)
	m, act = m.after(firstPage("101"), expires) // pages, although one piece was asked for
	require.Equal(t, doPause, act.do, "one piece was asked for, and its token expired all the same: to ask again at once would be a busy loop")
	require.Equal(t, deliverDiscard, act.deliver, "the pages of the lost moment must be forgotten")
	_, act = m.after(rests)
	require.Equal(t, doList, act.do)
}

// Function: machine.listFailed
func TestAPageThatBreaksIsAskedForAgain(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), breaks)
	require.Equal(t, doPause, act.do)
	require.Equal(t, deliverNothing, act.deliver, "the pages that came stay good")
	m, act = m.after(rests)
	require.Equal(t, doPage, act.do, "the same page again: with many pages, a list that starts over after each failure never ends")
	m, act = m.after(breaks, rests, breaks, rests)
	require.Equal(t, doList, act.do, "a page that fails again and again will not come: start over")
	_, act = m.after(firstPage("110"), stalls, rests)
	require.Equal(t, doPage, act.do, "the list that started over has pages of its own, and as many tries as the first")
}

// The same question gets the same answer: a list that insists on its page goes on
// asking a server that has said no.
// Function: machine.listFailed
func TestAPageThatTheServerRefusesIsNotAskedForAgain(t *testing.T) {
	for name, failure := range inorder.Map(map[string]input{"does not understand": refuses, "has no such kind for": gone, "is behind": tooLarge}) {
		m, act := lists.after(begins, firstPage("100"), failure)
		require.Equal(t, doPause, act.do, "a page that the server %s: wait first", name)
		require.Equal(t, deliverDiscard, act.deliver, "a page that the server %s will not come, and without it the others are no view", name)
		_, act = m.after(rests)
		require.Equal(t, doList, act.do, "a page that the server %s need not be asked for again: only a broken or a stalled answer may come the next time", name)
	}
}

// Function: machine.listFailed
func TestAVersionThatCannotBeHadIsNotListedAgain(t *testing.T) {
	for name, failure := range inorder.Map(map[string]input{"too large": tooLarge, "expired": expires}) {
		m, _ := lists.after(begins, listed("100"), opens, expires, rests)
		m, act := m.after(failure)
		require.Equal(t, doList, act.do, "when the version is %s, another question helps, and no pause", name)
		require.Empty(t, act.version, "when the version is %s, ask for the newest there is", name)
		_, act = m.after(failure)
		require.Equal(t, doPause, act.do, "if the newest is %s too, something is wrong with the server: a pause, or it is a busy loop", name)
	}
}

// Function: machine.streamFailed
func TestAVersionThatCannotBeHadLeadsToTheNewest(t *testing.T) {
	for name, failure := range inorder.Map(map[string]input{"too large": tooLarge, "expired": expires}) {
		m := watching(t)
		m, _ = m.after(expires, rests)
		m, act := m.after(failure)
		require.Equal(t, doStream, act.do, "when the version is %s, another question helps, and no pause", name)
		require.Empty(t, act.version, "when the version is %s, ask for the newest there is", name)
		_, act = m.after(failure)
		require.Equal(t, doPause, act.do, "if the newest is %s too, something is wrong with the server: a pause, or it is a busy loop", name)
	}
}
