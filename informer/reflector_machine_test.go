package informer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
)

// after takes a machine through a story of inputs and returns where it ends.
func (m machine) after(inputs ...input) (machine, action) {
	var act action
	for _, in := range inputs {
		m, act = m.step(in)
	}
	return m, act
}

// What happens, in short.
var (
	begins   = input{kind: inBegin}
	opens    = input{kind: inOpened}
	rests    = input{kind: inRested}
	endsLate = input{kind: inEnded, at: 10 * time.Minute}
	breaks   = input{kind: inFailed}
	expires  = input{kind: inFailed, fault: faultExpired}
	tooLarge = input{kind: inFailed, fault: faultTooLarge}
	refuses  = input{kind: inFailed, fault: faultUnsupported}
	stalls   = input{kind: inFailed, fault: faultStalled}
	gone     = input{kind: inFailed, fault: faultUnknownKind}
)

func comes(event watch.EventType, version string) input {
	return input{kind: inEvent, event: event, version: version}
}

func allCame(version string) input {
	return input{kind: inEvent, event: watch.Bookmark, version: version, last: true}
}

func listed(version string) input { return input{kind: inPage, version: version, last: true} }

func firstPage(version string) input { return input{kind: inPage, version: version} }

// streams is a reflector that prefers streams; lists is one that does not.
var (
	streams = machine{streams: true}
	lists   = machine{}
)

// watching is a reflector whose sink has a whole view as of 100.
func watching(t *testing.T) machine {
	t.Helper()
	m, act := streams.after(begins, opens, allCame("100"))
	require.Equal(t, StateWatching, m.state, "after the end of the initial events the view is whole")
	require.Equal(t, action{deliver: deliverReplace, do: doRead, version: "100"}, act,
		"the view must be handed over as of the bookmark's version, and the same watch read on")
	return m
}

// Half a view in the sink would be taken for all there is: everything that has
// not arrived yet would be deleted.
// Function: machine.initialEvent
func TestNothingReachesTheSinkBeforeTheViewIsWhole(t *testing.T) {
	for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		m, act := streams.after(begins, opens, comes(event, "90"))
		require.Equal(t, action{deliver: deliverCollect, do: doRead}, act, "an initial %s event is put aside until the view is whole", event)
		require.Equal(t, StateStreaming, m.state, "the view is not whole before the bookmark that says so")
	}
	_, act := lists.after(begins, firstPage("100"))
	require.Equal(t, action{deliver: deliverCollect, do: doPage}, act, "a page that is not the last is put aside, and the next one asked for")
}

// Function: machine.replaced
func TestAfterAListTheWatchBeginsAtTheListsVersion(t *testing.T) {
	m, act := lists.after(begins, listed("100"))
	require.Equal(t, action{deliver: deliverReplace, do: doWatch, version: "100"}, act, "the view is whole, and the watch begins where the list ended")
	require.Equal(t, StateConnecting, m.state, "nothing is watched before the server says so")
	m, _ = m.after(opens)
	require.Equal(t, StateWatching, m.state)
}

// Function: machine.initialEvent
func TestABookmarkThatEndsNothingMakesAStreamAList(t *testing.T) {
	m, act := streams.after(begins, opens, comes(watch.Added, "90"), comes(watch.Bookmark, "100"))
	require.Equal(t, doList, act.do, "a server that sends an ordinary bookmark does not know WatchList and never ends the initial events: list")
	require.Equal(t, deliverDiscard, act.deliver, "what came so far may not be all, and must be forgotten")
	require.False(t, m.streams, "and it need not be tried again")
}

// Function: machine.streamFailed
func TestAStreamThatTheServerCannotGiveBecomesAListAtOnce(t *testing.T) {
	for name, story := range map[string][]input{
		"is refused": {begins, refuses}, "never ends": {begins, opens, comes(watch.Added, "90"), stalls},
	} {
		m, act := streams.after(story...)
		require.Equal(t, doList, act.do, "a stream that %s must become a list, without a pause", name)
		require.Equal(t, deliverDiscard, act.deliver, "what came of a stream that %s must be forgotten", name)
		m, act = m.after(listed("100"), opens, expires, rests)
		require.Equal(t, doList, act.do, "a server whose stream %s need not be asked for one again", name)
		require.Equal(t, "100", act.version)
		require.Equal(t, StateListing, m.state)
	}
}

// Function: machine.streamFailed
func TestAStreamThatBreaksIsTriedAgainButNotForEver(t *testing.T) {
	m, act := streams.after(begins, opens, comes(watch.Added, "90"), breaks)
	require.Equal(t, doPause, act.do, "after a failure there must be a pause")
	require.Equal(t, deliverDiscard, act.deliver, "half a stream is nothing")
	m, act = m.after(rests)
	require.Equal(t, doStream, act.do, "a broken connection says nothing about what the server can do")
	_, act = m.after(opens, breaks, rests, opens, breaks, rests)
	require.Equal(t, doList, act.do, "what breaks three times in the middle may be too long for a proxy: a list comes in pieces")
}

// A server that is still starting would be read by lists from then on, for as
// long as the reflector runs.
// Function: machine.streamFailed
func TestAStreamThatNeverBeganSaysNothingAgainstStreams(t *testing.T) {
	for name, failure := range map[string]input{"is refused a connection": breaks, "gets no answer": stalls} {
		m, act := streams.after(begins)
		for range 2 * tries {
			m, act = m.after(failure)
			require.Equal(t, doPause, act.do, "a request that %s is tried again after a pause", name)
			m, act = m.after(rests)
			require.Equal(t, doStream, act.do,
				"a request that %s says nothing about what the server can do: only a stream that was opened can break in the middle or come to a standstill", name)
		}
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

// Function: machine.watchFailed
func TestAWatchThatBreaksEarlyIsNotHealthyHoweverOldTheView(t *testing.T) {
	m, act := watching(t).after(breaks)
	for n, version := range []string{"101", "102", "103"} {
		pause, at := act.pause, time.Duration(n+1)*time.Minute
		m, act = m.after(rests, input{kind: inOpened, at: at}, comes(watch.Modified, version), input{kind: inFailed, at: at + time.Second})
		require.Equal(t, 2*pause, act.pause, "the watch lived for a second: the time since the view was made whole says nothing about this watch, and the pause must be longer than the one before")
	}
}

// An API server that is down for a minute must not cost a list of everything.
// Function: machine.watchFailed
func TestAfterABrokenConnectionTheWatchGoesOnWhereItWas(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "120"), breaks)
	for n := range 20 {
		pause := act.pause
		m, act = m.after(rests)
		require.Equal(t, doWatch, act.do, "a server that cannot be reached has not forgotten anything: watch, do not list")
		require.Equal(t, "120", act.version, "go on after the last event")
		refused := breaks
		refused.at = time.Duration(n+1) * time.Minute
		m, act = m.after(refused)
		require.Equal(t, doPause, act.do, "after a failure there must be a pause")
		require.GreaterOrEqual(t, act.pause, min(2*pause, 15*time.Second),
			"each pause must be longer than the one before: a watch that was not opened did not live, however long ago the last one was opened or the view made")
	}
}

// Function: machine.watchFailed
func TestAfterASilenceTheWatchGoesOnWhereItWas(t *testing.T) {
	_, act := watching(t).after(comes(watch.Modified, "120"), stalls, rests)
	require.Equal(t, action{do: doWatch, version: "120"}, act,
		"a watch that was silent for too long was cut by us: the server has not forgotten anything, so watch, do not list")
}

// Function: machine.watchFailed
func TestAWatchThatLivedMakesUpForTheFailuresBeforeIt(t *testing.T) {
	m := watching(t)
	for range 8 {
		m, _ = m.after(breaks, rests)
	}
	broken := breaks
	broken.at = 10 * time.Minute
	_, act := m.after(input{kind: inOpened, at: time.Minute}, broken)
	require.LessOrEqual(t, act.pause, time.Second, "the watch lived for nine minutes before it broke: the failures before it must be forgotten, and the pause be short")
}

// Function: machine.watchFailed
func TestAfter410ThePauseComesBeforeTheNewView(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "120"), expires)
	require.Equal(t, doPause, act.do, "all clients of a server that restarts get 410 at the same moment: wait a little, at random")
	_, act = m.after(rests)
	require.Equal(t, action{do: doStream, version: "120", whole: true}, act,
		"410 takes the cursor away: ask for a whole view, no older than what the sink has")
}

// Whoever could not reach a server for a while must not wait half a minute more
// when it is back and says 410.
// Function: machine.watchFailed
func TestThePauseAfter410IsShortHoweverLongTheServerWasAway(t *testing.T) {
	m := watching(t)
	for range 8 {
		m, _ = m.after(breaks, rests)
	}
	later := expires
	later.at = time.Minute
	_, act := m.after(input{kind: inOpened, at: later.at}, later)
	require.LessOrEqual(t, act.pause, time.Second, "a server that answers is well again: only the crowd is a reason to wait")
	m, act = watching(t).after(expires)
	for range 8 {
		require.Equal(t, doPause, act.do)
		m, act = m.after(rests, opens, allCame("100"), expires)
	}
	require.Greater(t, act.pause, 10*time.Second, "but a server that gives views and then forgets them is not well")
}

// The newest there is, a server must read from etcd. For a view that is no older
// than what the sink has, its memory is enough.
// Function: machine.watchFailed
func TestAWatchThatLostItsPlaceAsksForNothingOlderThanTheSinkHas(t *testing.T) {
	for name, failure := range map[string]input{"has expired": expires, "is too large": tooLarge, "is not understood": refuses, "is of a kind that is gone": gone} {
		_, act := watching(t).after(failure, rests)
		require.Equal(t, doStream, act.do, "a watch whose version %s needs a new view", name)
		require.Equal(t, "100", act.version, "a watch whose version %s must first lead to a view that is no older than what the sink has, and not to the newest there is", name)
	}
}

// Function: machine.watchFailed
func TestAKindThatIsGoneIsListedWhenItComesBack(t *testing.T) {
	_, act := watching(t).after(gone, rests)
	require.Equal(t, doStream, act.do, "a kind that was removed and installed again has another history")
}

// Function: machine.watchFailed
func TestAnEventThatCannotBeReadIsPassedByAList(t *testing.T) {
	m := watching(t)
	m, act := m.after(breaks, rests, opens, breaks, rests, opens, breaks, rests)
	require.Equal(t, doStream, act.do, "a watch that breaks at its first event three times will break there for ever: only a new view leads past it")
	require.Equal(t, StateStreaming, m.state, "the new view is a stream, if the server can give one")
	m, _ = m.after(opens, allCame("110"))
	for _, want := range []command{doWatch, doWatch, doStream} {
		m, act = m.after(breaks, rests)
		require.Equal(t, want, act.do, "after the new view the breaks must be counted anew: two of them lead to a watch, and the third to a view")
		m, _ = m.after(opens)
	}
}

// Function: machine.ended
func TestAWatchThatEndsInGoodOrderGoesOnAtOnceIfItLived(t *testing.T) {
	m, act := watching(t).after(comes(watch.Bookmark, "130"), endsLate)
	require.Equal(t, action{do: doWatch, version: "130"}, act, "every watch ends after some minutes; there is no reason to wait")
	require.False(t, m.open, "a watch that was only asked for is not open: if it is refused now, it has not lived")
	_, act = m.after(input{kind: inOpened, at: endsLate.at}, input{kind: inEnded, at: endsLate.at + time.Millisecond})
	require.Equal(t, doPause, act.do, "a watch that ends at once must not be opened again at once: that is a busy loop")
}

// Function: machine.listFailed
func TestAnExpiredTokenLeadsToAListInOnePiece(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), expires)
	require.Equal(t, doList, act.do, "pages of another moment must not be mixed in: begin anew")
	require.True(t, act.whole, "a list in one piece has no token that can expire")
	require.Equal(t, deliverDiscard, act.deliver, "the pages of the lost moment must be forgotten")
	_, act = m.after(breaks, rests)
	require.False(t, act.whole, "if one piece is too much, pages are worth another try")
}

// Function: machine.listFailed
func TestAPageThatBreaksIsAskedForAgain(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"), breaks)
	require.Equal(t, doPause, act.do)
	require.Equal(t, deliverNothing, act.deliver, "the pages that came stay good")
	m, act = m.after(rests)
	require.Equal(t, doPage, act.do, "the same page again: with many pages, a list that begins anew after each failure never ends")
	m, act = m.after(breaks, rests, breaks, rests)
	require.Equal(t, doList, act.do, "a page that fails again and again will not come: begin anew")
	_, act = m.after(firstPage("110"), stalls, rests)
	require.Equal(t, doPage, act.do, "the list that began anew has pages of its own, and as many tries as the first")
}

// The same question gets the same answer: a list that insists on its page goes on
// asking a server that has said no.
// Function: machine.listFailed
func TestAPageThatTheServerRefusesIsNotAskedForAgain(t *testing.T) {
	for name, failure := range map[string]input{"does not understand": refuses, "has no such kind for": gone, "is behind": tooLarge} {
		m, act := lists.after(begins, firstPage("100"), failure)
		require.Equal(t, doPause, act.do, "a page that the server %s: wait first", name)
		require.Equal(t, deliverDiscard, act.deliver, "a page that the server %s will not come, and without it the others are no view", name)
		_, act = m.after(rests)
		require.Equal(t, doList, act.do, "a page that the server %s need not be asked for again: only a broken or a stalled answer may come the next time", name)
	}
}

// Function: machine.listFailed
func TestAVersionThatCannotBeHadIsNotListedAgain(t *testing.T) {
	for name, failure := range map[string]input{"too large": tooLarge, "expired": expires} {
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
	for name, failure := range map[string]input{"too large": tooLarge, "expired": expires} {
		m := watching(t)
		m, _ = m.after(expires, rests)
		m, act := m.after(failure)
		require.Equal(t, doStream, act.do, "when the version is %s, another question helps, and no pause", name)
		require.Empty(t, act.version, "when the version is %s, ask for the newest there is", name)
		_, act = m.after(failure)
		require.Equal(t, doPause, act.do, "if the newest is %s too, something is wrong with the server: a pause, or it is a busy loop", name)
	}
}

// Function: machine.goesBack
func TestTheViewNeverGoesBack(t *testing.T) {
	for name, m := range map[string]machine{"streaming": {streams: true, floor: "1000"}, "listing": {floor: "1000"}} {
		answers := func(version string) []input { return []input{opens, allCame(version)} }
		if !m.streams {
			answers = func(version string) []input { return []input{listed(version)} }
		}
		m, act := m.after(begins)
		require.Equal(t, "1000", act.version, "%s: ask for nothing older than what the sink has", name)
		m, act = m.after(answers("999")...)
		require.Equal(t, deliverDiscard, act.deliver, "%s: 999 is older than 1000, though it sorts after it as text", name)
		require.Equal(t, doPause, act.do, "%s: ask again after a pause", name)
		m, act = m.after(append([]input{rests}, answers("1001")...)...)
		require.Equal(t, deliverReplace, act.deliver, "%s: a newer view is welcome", name)
		require.Equal(t, "1001", m.floor)
	}
}

// Function: machine.doubt
func TestWhatTheServerInsistsOnIsTheTruth(t *testing.T) {
	m, act := machine{floor: "1000"}.after(begins, listed("50"), rests)
	for range tries {
		require.Equal(t, action{do: doList}, act, "an answer that is too old makes us ask for the newest there is")
		m, act = m.after(listed("50"))
		require.NotEqual(t, deliverReplace, act.deliver, "once or twice it may be a server that lags behind")
		m, act = m.after(rests)
	}
	_, act = m.after(listed("50"))
	require.Equal(t, deliverReplace, act.deliver, "but if the newest stays older, the cluster was restored from a backup, and we would wait for ever")
}

// Function: machine.newsEvent
func TestAWatchThatGoesBackIsNotBelieved(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "120"), comes(watch.Modified, "119"))
	require.Equal(t, action{deliver: deliverNothing, do: doPause}, action{deliver: act.deliver, do: act.do},
		"an event out of order must not reach the sink: the object may be newer there")
	_, act = m.after(rests)
	require.Equal(t, doStream, act.do, "and what else this watch left out, only a new view can tell")
}

// Function: machine.newsEvent
func TestABookmarkIsProgressAndAnOldOneNothing(t *testing.T) {
	m, act := watching(t).after(comes(watch.Bookmark, "130"))
	require.Equal(t, action{deliver: deliverProgress, do: doRead, version: "130"}, act, "a bookmark tells the sink how far the view has come")
	_, act = m.after(comes(watch.Bookmark, "129"))
	require.Equal(t, action{do: doRead}, act, "an old bookmark tells nothing")
}

func TestStoppingIsPossibleInEveryState(t *testing.T) {
	for _, story := range [][]input{{begins}, {begins, opens}, {begins, breaks}, {begins, opens, allCame("1")}} {
		m, act := streams.after(append(story, input{kind: inStop})...)
		require.Equal(t, StateStopped, m.state)
		require.Equal(t, doStop, act.do)
	}
}
