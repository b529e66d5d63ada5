package informer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
)

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
			"after %s all is well: failures of streams, pages and lists and older views must be counted from zero", name)
		require.False(t, m.newest, "after %s the server has what the sink has: the next view need not be the newest", name)
		require.False(t, m.whole, "after %s the next list may come in pages again", name)
		require.False(t, m.paged, "after %s no pages are left that more would be added to", name)
		require.Equal(t, time.Hour, m.viewAt, "the view of %s is from now", name)
		require.Equal(t, story.in.version, m.floor, "the sink has the version of %s", name)
		require.Equal(t, Cursor{}.Listed(story.in.version), m.cursor, "the next watch begins where the view of %s ends", name)
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
		m, act = m.after(breaks, rests, breaks, rests)
		require.Equal(t, doPage, act.do, "two failures of one page are no reason to start over, however often pages before it failed")
		m, act = m.after(firstPage("100"))
		require.Equal(t, action{deliver: deliverCollect, do: doPage}, act, "the page came after all, and the next one is asked for")
	}
}

// Function: machine.initialEvent
func TestABookmarkThatEndsNothingCostsTheStreamsOfThisViewOnly(t *testing.T) {
	m, _ := streams.after(begins, opens, comes(watch.Bookmark, "100"))
	require.Equal(t, tries, m.failedStreams, "an ordinary bookmark counts as many as tries: this server has no streams, the next one may")
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
	m, act := watching(t).after(expires, rests, opens, allCame("100"))
	require.Equal(t, action{deliver: deliverReplace, do: doRead, version: "100"}, act, "nothing has changed since the last view: its version is not older, but the same")
	_, act = m.after(comes(watch.Bookmark, "100"))
	require.Equal(t, deliverProgress, act.deliver, "a bookmark of the same version says that the view is up to date")
}

// An event shows that the one at which a watch broke has been passed.
// Function: machine.newsEvent
func TestAnEventBetweenBreaksStartsTheCountAnew(t *testing.T) {
	m, _ := watching(t).after(breaks, rests, opens, breaks, rests, opens, comes(watch.Modified, "110"))
	for _, want := range []command{doWatch, doWatch, doStream} {
		var act action
		m, act = m.after(breaks, rests)
		require.Equal(t, want, act.do, "after an event breaks must be counted from zero: two of them lead to a watch, and the third to a view")
		m, _ = m.after(opens)
	}
}

// Not every aggregated API server gives its events a version.
// Function: machine.newsEvent
func TestAnEventWithoutAVersionMovesNothing(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, ""))
	require.Equal(t, action{deliver: deliverApply, do: doRead}, act, "it is news all the same")
	m, act = m.after(comes(watch.Bookmark, ""))
	require.Equal(t, action{do: doRead}, act, "a bookmark without a version says nothing: there is no progress to tell of")
	require.Equal(t, "100", m.floor, "what the sink has is as old as before")
	_, act = m.after(endsLate)
	require.Equal(t, action{do: doWatch, version: "100"}, act, "the next watch begins at the last version that was named")
}
