package informer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/inorder"
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
		require.Equal(t, action{deliver: deliverCollect, do: doRead}, act, "an initial %s event is kept until the view is whole", event)
		require.Equal(t, StateStreaming, m.state, "the view is not whole before the bookmark that says so")
	}
	_, act := lists.after(begins, firstPage("100"))
	require.Equal(t, action{deliver: deliverCollect, do: doPage}, act, "a page that is not the last is kept, and the next one asked for")
}

// Function: machine.pageCame
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
	_, act = m.after(listed("100"), opens, expires, rests)
	require.Equal(t, doStream, act.do, "it did not refuse: another server may answer the next time")
}

// Function: machine.goesBack
func TestTheViewNeverGoesBack(t *testing.T) {
	for name, m := range inorder.Map(map[string]machine{"streaming": {streams: true, floor: "1000"}, "listing": {floor: "1000"}}) {
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

// Function: machine.olderView
func TestWhatTheServerInsistsOnIsTheTruth(t *testing.T) {
	m, act := machine{floor: "1000"}.after(begins, listed("50"), rests)
	for range tries {
		require.Equal(t, action{do: doList}, act, "an answer that is too old makes us ask for the newest there is")
		m, act = m.after(listed("50"))
		require.NotEqual(t, deliverReplace, act.deliver, "once or twice it may be a server that lags behind")
		m, act = m.after(rests)
	}
	_, act = m.after(listed("50"))
	require.Equal(t, deliverReplace, act.deliver, "but if the newest stays older, the cluster was restored from a backup, and we would wait forever")
}

// Function: machine.newsEvent
func TestAWatchThatGoesBackIsNotBelieved(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "120"), comes(watch.Modified, "119"))
	require.Equal(t, action{deliver: deliverNothing, do: doPause}, action{deliver: act.deliver, do: act.do},
		"an event out of order must not reach the sink: the object may be newer there")
	_, act = m.after(rests)
	require.Equal(t, doStream, act.do, "what else this watch left out, only a new view can show")
}

// Some aggregated servers number the versions of each object on their own. Each
// event that looks old costs a new view there, and must not cost half a minute.
// Function: machine.newsEvent
func TestAnEventThatIsTooOldDoesNotMakeThePausesGrow(t *testing.T) {
	m, act := watching(t).after(comes(watch.Modified, "99"))
	for range 8 {
		require.LessOrEqual(t, act.pause, time.Second, "the server sends events, so it is well: the pause must stay short")
		m, act = m.after(rests, opens, allCame("100"), comes(watch.Modified, "99"))
	}
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
