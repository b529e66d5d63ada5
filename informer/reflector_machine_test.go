package informer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/tests/inorder"
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
	pauses   = input{kind: inPaused}
	endsLate = input{kind: inEnded, at: 10 * time.Minute}
	breaks   = input{kind: inFailed}
	expires  = input{kind: inFailed, fault: faultExpired}
	tooLarge = input{kind: inFailed, fault: faultTooLarge}
	refuses  = input{kind: inFailed, fault: faultUnsupported}
	stalls   = input{kind: inFailed, fault: faultStalled}
	gone     = input{kind: inFailed, fault: faultUnknownKind}
	corrupt  = input{kind: inFailed, fault: faultUnreadable}
	tooBusy  = input{kind: inFailed, asked: 7 * time.Second}
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
		require.Equal(t, action{deliver: deliverCollect, do: doRead}, act,
			"an initial %s event is kept until the view is whole", event)
		require.Equal(t, StateStreaming, m.state,
			"the view is not whole before the bookmark that says so")
	}
	_, act := lists.after(begins, firstPage("100"))
	require.Equal(t, action{deliver: deliverCollect, do: doPage}, act,
		"a page that is not the last is kept, and the next one asked for")
}

// Function: machine.pageCame
func TestAfterAListTheWatchBeginsAtTheListsVersion(t *testing.T) {
	m, act := lists.after(begins, listed("100"))
	require.Equal(t, action{deliver: deliverReplace, do: doWatch, version: "100"}, act,
		"the view is whole, and the watch begins where the list ended")
	require.Equal(t, StateConnecting, m.state, "nothing is watched before the server says so")
	m, _ = m.after(opens)
	require.Equal(t, StateWatching, m.state)
}

// Function: machine.initialEvent
func TestABookmarkThatEndsNothingMakesAStreamAList(t *testing.T) {
	m, act := streams.after(begins, opens, comes(watch.Added, "90"), comes(watch.Bookmark, "100"))
	require.Equal(t, doList, act.do,
		"a server that sends an ordinary bookmark does not know WatchList and never ends the initial "+
			"events: list")
	require.Equal(t, deliverDiscard, act.deliver,
		"what came so far may not be all, and must be forgotten")
	_, act = m.after(listed("100"), opens, expires, pauses)
	require.Equal(t, doStream, act.do, "it did not refuse: another server may answer the next time")
}

// Function: machine.goesBack
func TestTheViewNeverGoesBack(t *testing.T) {
	for name, m := range inorder.Map(map[string]machine{"streaming": {streams: true, floor: "1000"},
		"listing": {floor: "1000"}}) {
		answers := func(version string) []input { return []input{opens, allCame(version)} }
		if !m.streams {
			answers = func(version string) []input { return []input{listed(version)} }
		}
		m, act := m.after(begins)
		require.Equal(t, "1000", act.version, "%s: ask for nothing older than what the sink has", name)
		m, act = m.after(answers("999")...)
		require.Equal(t, deliverDiscard, act.deliver,
			"%s: 999 is older than 1000, though it sorts after it as text", name)
		require.Equal(t, doPause, act.do, "%s: ask again after a pause", name)
		m, act = m.after(append([]input{pauses}, answers("1001")...)...)
		require.Equal(t, deliverReplace, act.deliver, "%s: a newer view is welcome", name)
		require.Equal(t, "1001", m.floor)
	}
}

// Function: machine.olderView
func TestWhatTheServerInsistsOnIsTheTruth(t *testing.T) {
	m, act := machine{floor: "1000"}.after(begins, listed("50"), pauses)
	for range tries {
		require.Equal(t, action{do: doList}, act,
			"an answer that is too old makes us ask for the newest there is")
		m, act = m.after(listed("50"))
		require.NotEqual(t, deliverReplace, act.deliver,
			"once or twice it may be a server that lags behind")
		m, act = m.after(pauses)
	}
	_, act = m.after(listed("50"))
	require.Equal(t, deliverReplace, act.deliver,
		"but if the newest stays older, the cluster was restored from a backup, and we would wait "+
			"forever")
}

// Function: machine.newsEvent
func TestAWatchThatGoesBackIsNotBelieved(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "120"), comes(watch.Modified, "119"))
	require.Equal(t, action{deliver: deliverNothing, do: doPause}, action{deliver: act.deliver,
		do: act.do},
		"an event out of order must not reach the sink: the object may be newer there")
	_, act = m.after(pauses)
	require.Equal(t, doStream, act.do, "what else this watch left out, only a new view can show")
}

// Some aggregated servers number the versions of each object on their own. Each
// event that looks old costs a new view there, and must not cost half a minute.
// Function: machine.newsEvent
func TestAnEventThatIsTooOldDoesNotMakeThePausesGrow(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "99"))
	for range 8 {
		require.LessOrEqual(t, act.pause, time.Second,
			"the server sends events, so it is well: the pause must stay short")
		m, act = m.after(pauses, opens, allCame("100"), comes(watch.Modified, "99"))
	}
}

// Function: machine.newsEvent
func TestABookmarkIsProgressAndAnOldOneNothing(t *testing.T) {
	m, act := watching(t).after(comes(watch.Bookmark, "130"))
	require.Equal(t, action{deliver: deliverProgress, do: doRead, version: "130"}, act,
		"a bookmark tells the sink how far the view has come")
	_, act = m.after(comes(watch.Bookmark, "129"))
	require.Equal(t, action{do: doRead}, act, "an old bookmark tells nothing")
}

func TestStoppingIsPossibleInEveryState(t *testing.T) {
	for _, story := range [][]input{{begins}, {begins, opens}, {begins, breaks}, {begins, opens,
		allCame("1")}} {
		m, act := streams.after(append(story, input{kind: inStop})...)
		require.Equal(t, StateStopped, m.state)
		require.Equal(t, doStop, act.do)
	}
}

// A counter that survives a whole view makes one failure look like three a week later.
// Function: machine.viewIsWhole
func TestAWholeViewForgetsWhatWentWrongBeforeIt(t *testing.T) {
	troubled := machine{floor: "90", newest: true, whole: true, paged: true, poll: time.Minute,
		failedStreams: 2, failedPages: 2, failedLists: 2, olderViews: 2}
	streaming, listing := troubled, troubled
	streaming.state, streaming.streams = StateStreaming, true
	listing.state = StateListing
	for name, story := range inorder.Map(map[string]struct {
		m  machine
		in input
	}{
		"a stream":                 {streaming, allCame("100")},
		"a list":                   {listing, listed("100")},
		"a list without a version": {listing, listed("")},
	}) {
		story.in.at = time.Hour
		m, act := story.m.step(story.in)
		require.Equal(t, deliverReplace, act.deliver, name)
		require.Equal(t, [4]int{}, [4]int{m.failedStreams, m.failedPages, m.failedLists, m.olderViews},
			"after %s all is well: failures of streams, pages and lists and older views must be counted "+
				"from zero", name)
		require.False(t, m.newest, "after %s the server has what the sink has: the next view need not "+
			"be the newest", name)
		require.False(t, m.whole, "after %s the next list may come in pages again", name)
		require.False(t, m.paged, "after %s no pages are left that more would be added to", name)
		require.Equal(t, time.Hour, m.viewAt, "the view of %s is from now", name)
		require.Equal(t, story.in.version, m.floor, "the sink has the version of %s", name)
		require.Equal(t, Cursor{}.Listed(story.in.version), m.cursor,
			"the next watch begins where the view of %s ends", name)
	}
}

// A list that starts over with the pages of the former one would be half a list of
// each, and one that starts with its failures would give up too soon.
// Function: machine.snapshot
func TestANewViewBeginsWithNothingOfTheFormer(t *testing.T) {
	for name, streams := range inorder.Map(map[string]bool{"stream": true, "list": false}) {
		m, _ := machine{streams: streams, open: true, paged: true, failedPages: 2}.after(begins)
		require.False(t, m.open, "the %s was only asked for: the server has not accepted it yet", name)
		require.False(t, m.paged, "no page of the new %s is there", name)
		require.Zero(t, m.failedPages, "no page of the new %s has failed", name)
	}
}

// A list of a hundred pages meets a broken connection here and there. It must not
// start over because of three that were far apart.
// Function: machine.pageCame
func TestEachPageOfAListHasItsOwnTries(t *testing.T) {
	m, act := lists.after(begins, firstPage("100"))
	for range 4 {
		m, act = m.after(breaks, pauses, breaks, pauses)
		require.Equal(t, doPage, act.do,
			"two failures of one page are no reason to start over, however often pages before it failed")
		m, act = m.after(firstPage("100"))
		require.Equal(t, action{deliver: deliverCollect, do: doPage}, act,
			"the page came after all, and the next one is asked for")
	}
}

// Function: machine.initialEvent
func TestABookmarkThatEndsNothingCostsTheStreamsOfThisViewOnly(t *testing.T) {
	m, _ := streams.after(begins, opens, comes(watch.Bookmark, "100"))
	require.Equal(t, tries, m.failedStreams,
		"an ordinary bookmark counts as many as tries: this server has no streams, the next one may")
	require.True(t, m.streams, "it is no refusal")
}

// Without the bookmark's version nobody knows where to go on.
// Function: machine.initialEvent
func TestTheEndOfTheInitialEventsWithoutAVersionEndsNothing(t *testing.T) {
	_, act := streams.after(begins, opens, comes(watch.Added, "90"), allCame(""))
	require.Equal(t, action{deliver: deliverDiscard, do: doList, reason: act.reason}, act,
		"a view without a version has no place to watch from: list instead")
}

// A quiet cluster has the same version for hours.
// Function: machine.goesBack
func TestTheSameVersionIsNoStepBack(t *testing.T) {
	m, act := watching(t).after(expires, pauses, opens, allCame("100"))
	require.Equal(t, action{deliver: deliverReplace, do: doRead, version: "100"}, act,
		"nothing has changed since the last view: its version is not older, but the same")
	_, act = m.after(comes(watch.Bookmark, "100"))
	require.Equal(t, deliverProgress, act.deliver,
		"a bookmark of the same version says that the view is up to date")
}

// An event shows that the one at which a watch broke has been passed.
// Function: machine.newsEvent
func TestAnEventBetweenBreaksStartsTheCountAnew(t *testing.T) {
	m, _ := watching(t).after(breaks, pauses, opens, breaks, pauses, opens, comes(watch.Modified, "110"))
	for _, want := range []command{doWatch, doWatch, doStream} {
		var act action
		m, act = m.after(breaks, pauses)
		require.Equal(t, want, act.do,
			"after an event breaks must be counted from zero: two of them lead to a watch, and the third "+
				"to a view")
		m, _ = m.after(opens)
	}
}

// Not every aggregated API server gives its events a version.
// Function: machine.newsEvent
func TestAnEventWithoutAVersionMovesNothing(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, ""))
	require.Equal(t, action{deliver: deliverApply, do: doRead}, act, "it is news all the same")
	m, act = m.after(comes(watch.Bookmark, ""))
	require.Equal(t, action{do: doRead}, act,
		"a bookmark without a version says nothing: there is no progress to tell of")
	require.Equal(t, "100", m.floor, "what the sink has is as old as before")
	_, act = m.after(endsLate)
	require.Equal(t, action{do: doWatch, version: "100"}, act,
		"the next watch begins at the last version that was named")
}
