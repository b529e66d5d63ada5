package informer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// Function: machine.streamFailed
func TestAStreamThatTheServerRefusesIsAListFromThenOn(t *testing.T) {
	m, act := streams.after(begins, refuses)
	require.Equal(t, doList, act.do, "a stream that is refused must become a list, without a pause")
	require.Equal(t, deliverDiscard, act.deliver, "what came before must be forgotten")
	require.NotEmpty(t, act.reason, "the health must say why it lists")
	m, act = m.after(listed("100"), opens, expires, pauses)
	require.Equal(t, action{do: doList, version: "100", whole: true}, act,
		"the server said that it does not understand streams: it need not be asked again")
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
		require.Equal(t, deliverDiscard, act.deliver, "what came of a stream that %s must be forgotten",
			name)
		require.NotEmpty(t, act.reason, "the health must say why it lists")
		require.Equal(t, tries, m.failedStreams,
			"a stream that %s counts as many as tries: it has cost as much time", name)
		_, act = m.after(listed("100"), opens, expires, pauses)
		require.Equal(t, doStream, act.do,
			"a stream that %s is no refusal: the next view must be a stream again", name)
		_, act = m.after(breaks, pauses)
		require.Equal(t, doStream, act.do,
			"the list in its place failed, too: streams have their turn again")
	}
}

// Function: machine.streamFailed
func TestAStreamThatBreaksIsTriedAgainButNotForever(t *testing.T) {
	m, act := streams.after(begins, opens, comes(watch.Added, "90"), breaks)
	require.Equal(t, doPause, act.do, "after a failure there must be a pause")
	require.Equal(t, deliverDiscard, act.deliver, "half a stream is nothing")
	m, act = m.after(pauses)
	require.Equal(t, doStream, act.do, "a broken connection says nothing about what the server can do")
	m, act = m.after(opens, breaks, pauses)
	require.Equal(t, doStream, act.do, "nor do two of them")
	m, act = m.after(opens, breaks, pauses)
	require.Equal(t, doList, act.do,
		"what breaks three times in the middle may be too long for a proxy: a list comes in pieces")
	_, act = m.after(listed("100"), opens, expires, pauses)
	require.Equal(t, doStream, act.do,
		"three broken connections are no refusal: the next view must be a stream again")
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
		m, act = m.after(pauses)
	}
	require.Equal(t, doList, act.do,
		"three streams in a row that could not be opened: a list may get through")
	_, act = m.after(firstPage("100"), expires)
	require.Equal(t, doList, act.do, "a list that starts over at once is the same view")
	failed, act := m.after(breaks, pauses)
	require.Equal(t, doStream, act.do, "the list failed, too: so it is not streams")
	_, act = failed.after(breaks, pauses, breaks, pauses, breaks, pauses)
	require.Equal(t, doList, act.do, "and so on by turns")
	m, act = m.after(listed("100"), opens, expires, pauses)
	require.Equal(t, doStream, act.do,
		"the next view may be a stream again: nothing is known of the server")
	_, act = m.after(breaks, pauses, breaks, pauses)
	require.Equal(t, doStream, act.do, "and failures must be counted from zero after a whole view")
}

// Function: machine.streamFailed
func TestAServerThatSaysWhenToComeBackMeansTheTimeAndNotTheStream(t *testing.T) {
	m, act := streams.after(begins)
	for range 2 * tries {
		m, act = m.after(tooBusy)
		require.Equal(t, doPause, act.do)
		require.GreaterOrEqual(t, act.pause, tooBusy.asked, "the server said when to come back")
		m, act = m.after(pauses)
		require.Equal(t, doStream, act.do,
			"a server that is busy must not be asked for something more expensive")
	}
}

// Function: machine.ended
func TestAStreamThatEndsBeforeTheViewIsWholeIsAFailure(t *testing.T) {
	m, act := streams.after(begins, opens, comes(watch.Added, "90"), endsLate)
	require.Equal(t, doPause, act.do,
		"the server ended the stream in good order, but the view is not whole: a failure, however long "+
			"it lived")
	require.Equal(t, deliverDiscard, act.deliver, "half a stream is nothing")
	_, act = m.after(pauses)
	require.Equal(t, doStream, act.do,
		"there is no cursor to watch from: ask for the whole view again")
}

// Function: machine.listFailed
func TestAnExpiredTokenLeadsToAListInOnePiece(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), expires)
	require.Equal(t, doList, act.do, "pages of another moment must not be mixed in: start over")
	require.True(t, act.whole, "a list in one piece has no token that can expire")
	require.Equal(t, deliverDiscard, act.deliver, "the pages of the lost moment must be forgotten")
	_, act = m.after(breaks, pauses)
	require.False(t, act.whole, "if one piece is too much, pages are worth another try")
}

// A server that forgets each list between two of its pages would be asked ten
// thousand times a second.
// Function: machine.listFailed
func TestAnExpiredTokenOfAListInOnePieceIsAFailure(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), expires)
	require.True(t, act.whole)
	m, act = m.after(firstPage("101"), expires) // pages, although one piece was asked for
	require.Equal(t, doPause, act.do,
		"one piece was asked for, and its token expired all the same: to ask again at once would be a "+
			"busy loop")
	require.Equal(t, deliverDiscard, act.deliver, "the pages of the lost moment must be forgotten")
	_, act = m.after(pauses)
	require.Equal(t, doList, act.do)
}

// Function: machine.listFailed
func TestAPageThatBreaksIsAskedForAgain(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), breaks)
	require.Equal(t, doPause, act.do)
	require.Equal(t, deliverNothing, act.deliver, "the pages that came stay good")
	m, act = m.after(pauses)
	require.Equal(t, doPage, act.do,
		"the same page again: with many pages, a list that starts over after each failure never ends")
	m, act = m.after(breaks, pauses, breaks, pauses)
	require.Equal(t, doList, act.do, "a page that fails again and again will not come: start over")
	_, act = m.after(firstPage("110"), stalls, pauses)
	require.Equal(t, doPage, act.do,
		"the list that started over has pages of its own, and as many tries as the first")
}

// The same question gets the same answer: a list that insists on its page goes on
// asking a server that has said no.
// Function: machine.listFailed
func TestAPageThatTheServerRefusesIsNotAskedForAgain(t *testing.T) {
	for name, failure := range inorder.Map(map[string]input{"does not understand": refuses,
		"has no such kind for": gone, "is behind": tooLarge}) {
		m, act := lists.after(begins, firstPage("100"), failure)
		require.Equal(t, doPause, act.do, "a page that the server %s: wait first", name)
		require.Equal(t, deliverDiscard, act.deliver,
			"a page that the server %s will not come, and without it the others are no view", name)
		_, act = m.after(pauses)
		require.Equal(t, doList, act.do,
			"a page that the server %s need not be asked for again: only a broken or a stalled answer may "+
				"come the next time", name)
	}
}

// Function: machine.listFailed
func TestAVersionThatCannotBeHadIsNotListedAgain(t *testing.T) {
	for name, failure := range inorder.Map(map[string]input{"too large": tooLarge,
		"expired": expires}) {
		m, _ := lists.after(begins, listed("100"), opens, expires, pauses)
		m, act := m.after(failure)
		require.Equal(t, doList, act.do, "when the version is %s, another question helps, and no pause",
			name)
		require.Empty(t, act.version, "when the version is %s, ask for the newest there is", name)
		_, act = m.after(failure)
		require.Equal(t, doPause, act.do,
			"if the newest is %s too, something is wrong with the server: a pause, or it is a busy loop",
			name)
	}
}

// Function: machine.streamFailed
func TestAVersionThatCannotBeHadLeadsToTheNewest(t *testing.T) {
	for name, failure := range inorder.Map(map[string]input{"too large": tooLarge,
		"expired": expires}) {
		m := watching(t)
		m, _ = m.after(expires, pauses)
		m, act := m.after(failure)
		require.Equal(t, doStream, act.do,
			"when the version is %s, another question helps, and no pause", name)
		require.Empty(t, act.version, "when the version is %s, ask for the newest there is", name)
		_, act = m.after(failure)
		require.Equal(t, doPause, act.do,
			"if the newest is %s too, something is wrong with the server: a pause, or it is a busy loop",
			name)
	}
}

// Function: machine.watchFailed
func TestAWatchThatBreaksEarlyIsNotHealthyHoweverOldTheView(t *testing.T) {
	m, act := watching(t).after(breaks)
	pause, at := act.pause, time.Minute
	m, act = m.after(pauses, input{kind: inOpened, at: at}, input{kind: inFailed, at: at + time.Second})
	require.Equal(t, doPause, act.do,
		"the watch lived for a second: to open the next one at once would be a busy loop")
	require.Equal(t, 2*pause, act.pause,
		"the watch lived for a second: the time since the view was made whole says nothing about this "+
			"watch, and the pause must be longer than the one before")
	require.False(t, m.open, "nothing is open during a pause")
}

// A server sends an event only if it is well. Behind a proxy that cuts after a
// second, a busy collection must not be read once in half a minute.
// Function: machine.watchFailed
func TestAWatchThatBroughtEventsMakesUpForTheFailuresBeforeIt(t *testing.T) {
	m, act := watching(t).after(breaks)
	first := act.pause
	for _, version := range []string{"101", "102", "103", "104", "105"} {
		m, act = m.after(pauses)
		require.Equal(t, doWatch, act.do, "a connection that broke is no reason for a new view")
		m, act = m.after(opens, comes(watch.Modified, version), breaks)
		require.Equal(t, first, act.pause,
			"the watch brought an event before it broke: the pause must not grow")
	}
}

// Function: machine.ended
func TestAWatchThatEndsAfterABookmarkMakesUpForTheFailuresBeforeIt(t *testing.T) {
	m, act := watching(t).after(input{kind: inEnded})
	first := act.pause
	for range 5 {
		m, act = m.after(pauses, opens, comes(watch.Bookmark, "101"), input{kind: inEnded})
		require.Equal(t, first, act.pause,
			"the watch brought a bookmark before it ended: the pause must not grow")
	}
}

// An API server that is down for a minute must not cost a list of everything.
// Function: machine.watchFailed
func TestAfterABrokenConnectionTheWatchGoesOnWhereItWas(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "120"), breaks)
	for n := range 20 {
		pause := act.pause
		m, act = m.after(pauses)
		if n < tries-1 {
			require.Equal(t, doWatch, act.do,
				"a server that cannot be reached has not forgotten anything: watch, do not list")
		}
		require.Equal(t, doWatch, act.do,
			"however often a server cannot be reached, it has not forgotten anything: only a watch that "+
				"was opened can break at an event")
		require.Equal(t, "120", act.version, "go on after the last event")
		refused := breaks
		refused.at = time.Duration(n+1) * time.Minute
		m, act = m.after(refused)
		require.Equal(t, doPause, act.do, "after a failure there must be a pause")
		require.GreaterOrEqual(t, act.pause, min(2*pause, 15*time.Second),
			"each pause must be longer than the one before: a watch that was not opened did not live, "+
				"however long ago the last one was opened or the view made")
	}
}

// Function: machine.watchFailed
func TestAWatchThatStallsGoesOnWhereItWas(t *testing.T) {
	_, act := watching(t).after(comes(watch.Modified, "120"), stalls, pauses)
	require.Equal(t, action{do: doWatch, version: "120"}, act,
		"a watch that stalled was cut by us: the server has not forgotten anything, so watch, do not "+
			"list")
}

// A proxy that cuts every connection after some seconds would keep a program
// from seeing anything for most of the time.
// Function: machine.watchFailed
func TestAWatchThatLivedIsOpenedAgainAtOnceEvenIfItBroke(t *testing.T) {
	m := watching(t)
	for range 8 {
		m, _ = m.after(breaks, pauses)
	}
	m, act := m.after(input{kind: inOpened, at: time.Minute}, comes(watch.Bookmark, "100"),
		input{kind: inFailed, at: 10 * time.Minute})
	require.LessOrEqual(t, act.pause, time.Second,
		"the watch lived for nine minutes before it broke: the failures before it must be forgotten")
	require.Equal(t, action{do: doWatch, version: "100"}, act,
		"the watch lived for nine minutes before it broke: open the next one at once")
	require.Equal(t, StateConnecting, m.state, "nothing is watched before the server says so")
	require.False(t, m.open, "a watch that was only asked for is not open: if it is refused now, it "+
		"has not lived")
	_, act = m.after(input{kind: inFailed, at: 10 * time.Minute})
	require.LessOrEqual(t, act.pause, time.Second,
		"the failures before a watch that lived must be forgotten")
	_, act = m.after(input{kind: inOpened, at: 11 * time.Minute}, input{kind: inFailed,
		at: 20 * time.Minute, asked: 7 * time.Second})
	require.Equal(t, doPause, act.do,
		"however long the watch lived, the server said when to come back")
	require.GreaterOrEqual(t, act.pause, 7*time.Second)
}

// After a restore from a backup, an informer would see nothing for days: the server accepts a watch
// from a version of the future, and waits until it gets there.
// Function: machine.resume
func TestWatchesThatGetNotEvenABookmarkForMinutesAreFollowedByAView(t *testing.T) {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	m, act := streams.after(begins, opens, allCame("100"))
	for _, ends := range []inputKind{inEnded, inFailed} {
		silent, act := m.after(
			input{kind: inEnded, at: minutes(5)},
			input{kind: inOpened, at: minutes(6)}, input{kind: ends, at: minutes(7)})
		require.Equal(t, doWatch, act.do, "a bookmark may take more than a minute")
		silent, act = silent.after(input{kind: inOpened, at: minutes(8)},
			input{kind: ends, at: minutes(9)})
		require.Equal(t, doPause, act.do, "two watches got nothing for two minutes in all")
		require.Contains(t, act.reason, "not even a bookmark")
		silent, act = silent.after(pauses)
		require.Equal(t, action{do: doStream, version: "100", whole: true}, act,
			"a server that has gone back refuses a view that is no older than what was seen")
		_, act = silent.after(opens, allCame("100"), input{kind: inEnded, at: minutes(20)})
		require.Equal(t, doWatch, act.do, "the view says that the server is there")
	}

	t.Log("the end of the initial events is a bookmark, too")
	_, act = m.after(input{kind: inEnded, at: minutes(10)})
	require.Equal(t, doWatch, act.do)

	t.Log("an event in between, and the count starts over")
	_, act = m.after(input{kind: inEnded, at: minutes(5)},
		input{kind: inOpened, at: minutes(6)}, input{kind: inEnded, at: minutes(7)},
		input{kind: inOpened, at: minutes(7)}, comes(watch.Modified, "101"),
		input{kind: inEnded, at: minutes(20)},
		input{kind: inOpened, at: minutes(20)}, input{kind: inEnded, at: minutes(21)})
	require.Equal(t, doWatch, act.do)

	t.Log("a server that knows no bookmarks has quiet watches")
	listing, _ := machine{}.after(begins, listed("100"))
	_, act = listing.after(opens, input{kind: inEnded, at: minutes(20)})
	require.Equal(t, doWatch, act.do)
	_, act = listing.after(opens, comes(watch.Bookmark, "100"), input{kind: inEnded, at: minutes(1)},
		input{kind: inOpened, at: minutes(1)}, input{kind: inEnded, at: minutes(20)})
	require.Equal(t, doPause, act.do, "this one has sent one")
}

// Function: machine.watchFailed
func TestAWatchThatLivedIsNoneOfThreeThatBrokeAtOnce(t *testing.T) {
	m, _ := watching(t).after(breaks, pauses, opens, breaks, pauses)
	m, act := m.after(input{kind: inOpened, at: time.Minute}, input{kind: inFailed,
		at: 2 * time.Minute})
	require.Equal(t, doWatch, act.do,
		"the third watch lived before it broke: there is no event that cannot be decoded, and no "+
			"reason for a new view")
	at := input{kind: inOpened, at: 2 * time.Minute}
	atOnce := input{kind: inFailed, at: 2 * time.Minute}
	m, act = m.after(at, atOnce, pauses, at, atOnce, pauses)
	require.Equal(t, doWatch, act.do, "breaks must be counted from zero after a watch that lived")
	_, act = m.after(at, atOnce, pauses)
	require.Equal(t, doStream, act.do,
		"but three watches in a row that break at once are one too many: only a new view leads past "+
			"the event")
}

// Function: machine.watchFailed
func TestAfter410ThePauseComesBeforeTheNewView(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "120"), expires)
	require.Equal(t, doPause, act.do,
		"all clients of a server that restarts get 410 at the same moment: wait a little, at random")
	_, act = m.after(pauses)
	require.Equal(t, action{do: doStream, version: "120", whole: true}, act,
		"410 takes the cursor away: ask for a whole view, no older than what the sink has")
}

// A client that could not reach a server for a while must not wait half a minute more
// when it is back and says 410.
// Function: machine.watchFailed
func TestThePauseAfter410IsShortHoweverLongTheServerWasAway(t *testing.T) {
	m := watching(t)
	for range 8 {
		m, _ = m.after(breaks, pauses)
	}
	later := expires
	later.at = time.Minute
	_, act := m.after(input{kind: inOpened, at: later.at}, later)
	require.LessOrEqual(t, act.pause, time.Second,
		"a server that answers is well again: only the crowd is a reason to wait")
	m, act = watching(t).after(expires)
	for range 8 {
		require.Equal(t, doPause, act.do)
		m, act = m.after(pauses, opens, allCame("100"), expires)
	}
	require.Greater(t, act.pause, 10*time.Second,
		"but a server that gives views and then forgets them is not well")
}

// The newest there is, a server must read from etcd. For a view that is no older
// than what the sink has, its memory is enough.
// Function: machine.watchFailed
func TestAWatchThatLostItsPlaceAsksForNothingOlderThanTheSinkHas(t *testing.T) {
	for name, failure := range inorder.Map(map[string]input{"has expired": expires,
		"is too large": tooLarge, "is not understood": refuses, "is of a kind that is gone": gone,
		"leads to an object that the server cannot read": corrupt}) {
		m, act := watching(t).after(failure)
		require.True(t, m.cursor.MustList(), "a watch whose version %s has no place to go on from", name)
		require.Equal(t, deliverNothing, act.deliver,
			"the sink keeps what it has until the new view is whole")
		_, act = m.after(pauses)
		require.Equal(t, doStream, act.do, "a watch whose version %s needs a new view", name)
		_, act = watching(t).after(breaks, pauses, failure, pauses)
		require.Equal(t, doStream, act.do,
			"a watch whose version %s needs a new view, even if it was never open", name)
		_, act = watching(t).after(failure, pauses)
		require.Equal(t, "100", act.version,
			"a watch whose version %s must first lead to a view that is no older than what the sink has, "+
				"and not to the newest there is", name)
	}
}

// Function: machine.watchFailed
func TestAKindThatIsGoneIsListedWhenItComesBack(t *testing.T) {
	_, act := watching(t).after(gone, pauses)
	require.Equal(t, doStream, act.do,
		"a kind that was removed and installed again has another history")
}

// Function: machine.watchFailed
func TestAnEventThatCannotBeReadIsPassedByAList(t *testing.T) {
	m := watching(t)
	m, act := m.after(breaks, pauses, opens, breaks, pauses, opens, breaks, pauses)
	require.Equal(t, doStream, act.do,
		"a watch that breaks at its first event three times will break there forever: only a new view "+
			"leads past it")
	require.Equal(t, StateStreaming, m.state, "the new view is a stream, if the server can give one")
	m, _ = m.after(opens, allCame("110"))
	for _, want := range []command{doWatch, doWatch, doStream} {
		m, act = m.after(breaks, pauses)
		require.Equal(t, want, act.do,
			"after the new view the breaks must be counted from zero: two of them lead to a watch, and "+
				"the third to a view")
		m, _ = m.after(opens)
	}
}

// Function: machine.ended
func TestAWatchThatEndsInGoodOrderGoesOnAtOnceIfItLived(t *testing.T) {
	m, act := watching(t).after(comes(watch.Bookmark, "130"), endsLate)
	require.Equal(t, StateConnecting, m.state, "nothing is watched before the server says so")
	require.Equal(t, action{do: doWatch, version: "130"}, act,
		"every watch ends after some minutes; there is no reason to wait")
	require.False(t, m.open, "a watch that was only asked for is not open: if it is refused now, it "+
		"has not lived")
	m, act = m.after(input{kind: inOpened, at: endsLate.at}, input{kind: inEnded, at: endsLate.at +
		time.Millisecond})
	require.Equal(t, doPause, act.do,
		"a watch that ends at once must not be opened again at once: that is a busy loop")
	require.NotEmpty(t, act.reason, "no error says why there is a pause")
	require.Equal(t, StateWaiting, m.state, "a pause is a state of its own")
	_, act = m.after(pauses)
	require.Equal(t, action{do: doWatch, version: "130"}, act,
		"a watch that ended in good order has lost nothing: go on from the cursor")
}

// Function: machine.ended
func TestAWatchThatEndsAtOnceWaitsLongerEachTime(t *testing.T) {
	m, act := watching(t).after(input{kind: inEnded})
	require.False(t, m.cursor.MustList(),
		"a watch that ended early has lost nothing: its place is still good")
	for range 3 {
		pause := act.pause
		m, act = m.after(pauses, opens, input{kind: inEnded})
		require.Equal(t, 2*pause, act.pause,
			"a server that ends every watch at once must be left alone for longer and longer")
	}
	m, _ = m.after(pauses, opens, input{kind: inEnded, at: time.Minute})
	require.Zero(t, m.backoff.Failures(), "a watch that lived makes up for the failures before it")
}
