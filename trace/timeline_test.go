package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// story is a Pod's event on its way to its ReplicaSet's reconcile, next to
// another Pod that has nothing to do with it.
func story() []Event {
	ms := time.Millisecond
	events := []Event{
		{At: 4 * ms, Kind: List, Layer: "listwatch", Object: "Pod", Version: "811", Count: 12},
		{
			At: 1310 * ms, Kind: WatchEvent, Layer: "listwatch", Object: "Pod",
			Namespace: "default", Name: "web-1", Version: "815", Op: "DELETED",
		},
		{
			At: 1311 * ms, Kind: WatchEvent, Layer: "listwatch", Object: "Pod",
			Namespace: "default", Name: "other", Version: "816", Op: "MODIFIED",
		},
		{
			At: 1312 * ms, Kind: Predicate, Layer: "replicaset", Object: "Pod",
			Namespace: "default", Name: "web-1", Version: "815", Op: "Delete", Outcome: Passed,
		},
		{
			At: 1312 * ms, Kind: Handler, Layer: "replicaset", Object: "Pod", Namespace: "default",
			Name: "web-1", Version: "815", Op: "Delete", ToNamespace: "default", ToName: "web",
			Reason: "owner ReplicaSet",
		},
		{
			At: 1313 * ms, Kind: Enqueue, Layer: "queue", Namespace: "default", Name: "web",
			Outcome: Deduplicated,
		},
		{
			At: 1320 * ms, Kind: ReconcileStart, Layer: "replicaset", Object: "ReplicaSet",
			Namespace: "default", Name: "web", Count: 2,
		},
		{
			At: 1329 * ms, Kind: ReconcileEnd, Layer: "replicaset", Object: "ReplicaSet",
			Namespace: "default", Name: "web", Outcome: Failed, Took: 9 * ms,
			Reason: "pods is forbidden",
		},
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

func TestATimelineIsReadFromTopToBottomInStraightColumns(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Timeline{}.Write(&out, story()))
	assert.Equal(t, strings.TrimPrefix(`
   0.004s  listwatch   list             Pod                     12 items at resourceVersion 811
   1.310s  listwatch   watch event      Pod default/web-1       DELETED at resourceVersion 815
   1.311s  listwatch   watch event      Pod default/other       MODIFIED at resourceVersion 816
   1.312s  replicaset  predicate        Pod default/web-1       Delete let through
   1.312s  replicaset  handler          Pod default/web-1       Delete asks for default/web: owner ReplicaSet
   1.313s  queue       enqueue          default/web             already waiting, merged
   1.320s  replicaset  reconcile start  ReplicaSet default/web  reconcile starts, for 2 causes merged
   1.329s  replicaset  reconcile end    ReplicaSet default/web  failed in 9ms: pods is forbidden
`, "\n"), out.String())
}

func TestWhyFollowsOneReplicaSetBackToThePodThatWokeIt(t *testing.T) {
	events := append(story(), Event{Seq: 9, Kind: Handler, Layer: "endpoints", Object: "Pod",
		Namespace: "default", Name: "web-1", Version: "815",
		Op: "Delete", ToNamespace: "default", ToName: "service"})
	// another controller's handler saw the same change first
	events[4], events[8] = events[8], events[4]
	events[4].Seq, events[8].Seq = 5, 9
	var seqs []uint64
	for _, e := range Why(events, "ReplicaSet", "default", "web") {
		seqs = append(seqs, e.Seq)
	}
	assert.Equal(t, []uint64{2, 4, 6, 7, 8, 9}, seqs,
		"neither the list, nor the other pod, nor the other controller belongs to the story")
}

func TestAFilterSelectsByKindLayerAndKey(t *testing.T) {
	count := func(f Filter) int { return len(f.Select(story())) }
	assert.Equal(t, 8, count(Filter{}))
	assert.Equal(t, 3, count(Filter{Kinds: []Kind{WatchEvent, List}}))
	assert.Equal(t, 3, count(Filter{Layer: "listwatch"}))
	assert.Equal(t, 3, count(Filter{Namespace: "default", Name: "web-1"}))
	assert.Equal(t, 4, count(Filter{Name: "web"}),
		"the request that a handler made for the key counts")
	assert.Zero(t, count(Filter{Namespace: "kube-system"}))
	assert.Zero(t, count(Filter{Namespace: "kube-system", Name: "web"}),
		"a request for the same name elsewhere is another one")
	assert.Equal(t, 2, count(Filter{Kinds: []Kind{WatchEvent}}))
	assert.Equal(t, 3, count(Filter{Object: "ReplicaSet"}),
		"its two reconciles, and what a layer recorded that knows no kinds")
	assert.Zero(t, count(Filter{Layer: "listwatch", Name: "web"}),
		"the handler that asked for the key is of another layer")
}

// A user asks why one key was reconciled. The cause of another key's reconcile would lead to the
// wrong object.
func TestWhyLeavesOutWhatWokeAnotherKey(t *testing.T) {
	events := append(story(), Event{Seq: 9, Kind: Handler, Layer: "replicaset", Object: "Pod",
		Namespace: "default", Name: "other", Version: "816",
		Op: "Update", ToNamespace: "default", ToName: "another"})
	for _, e := range Why(events, "ReplicaSet", "default", "web") {
		assert.NotEqual(t, "other", e.Name, "%s at %s belongs to another key", e.Kind, e.Version)
	}
}

func TestColourChangesNothingButTheColour(t *testing.T) {
	var plain, colored strings.Builder
	require.NoError(t, Timeline{}.Write(&plain, story()))
	require.NoError(t, Timeline{Color: true}.Write(&colored, story()))
	s := colored.String()
	for _, code := range []string{"\x1b[0m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[35m",
		"\x1b[36m"} {
		assert.Contains(t, s, code)
		s = strings.ReplaceAll(s, code, "")
	}
	assert.Equal(t, plain.String(), s)
}

// An error's text would forge lines of the timeline, clear the screen, or rename the window.
func TestNothingInAnEventReachesTheTerminalAsACommand(t *testing.T) {
	const evil = "a\nb\r\x1b[2Jc\u009bd\u202ee\x00\tä"
	const shown = `a\nb\r\x1b[2Jc\u009bd\u202ee\x00\tä`
	for kind := List; kind <= Note; kind++ {
		event := Event{Kind: kind, Layer: evil, Object: evil, Namespace: evil, Name: evil,
			Version: evil, Op: evil, Reason: evil, ToNamespace: evil, ToName: evil}
		var out bytes.Buffer
		require.NoError(t, Timeline{}.Write(&out, []Event{event}))
		line, isOne := strings.CutSuffix(out.String(), "\n")
		require.True(t, isOne)
		require.NotContainsf(t, line, "\n", "%s is more than one line", kind)
		require.Containsf(t, line, shown, "%s", kind)
		for _, r := range line {
			require.Truef(t, unicode.IsPrint(r), "%s prints %q", kind, r)
		}
	}
	require.Equal(t, `\x1b`, printable("\x1b"))
	require.Equal(t, `"quoted"`, printable(`"quoted"`), "what does no harm stays as it is")
}

func TestFollowShowsEventsAsTheyComeAndTheRestAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := New(4)
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		done := make(chan error)
		go func() {
			done <- Timeline{Filter: Filter{Kinds: []Kind{List, WatchEvent}}}.Follow(ctx, rec, &out)
		}()
		rec.Record(Event{Kind: List, Object: "Pod", Version: "1", Count: 1})
		synctest.Wait()
		assert.Contains(t, out.String(), "1 item at resourceVersion 1", "shown before the end")

		for range 7 {
			rec.Record(Event{Kind: Note})
		}
		rec.Record(Event{Kind: WatchEvent, Object: "Pod", Name: "last", Op: "ADDED"})
		cancel()
		require.NoError(t, <-done)
		assert.Contains(t, out.String(), "events were overwritten before they could be shown")
		assert.Contains(t, out.String(), "Pod last", "recorded before the end, so shown")
	})
}

// slowTerminal takes so long for each line that new events are there after it. It fails if Follow
// never stops writing.
type slowTerminal struct {
	rec    *Recorder
	cancel context.CancelFunc
	lines  int
}

func (s *slowTerminal) Write(line []byte) (int, error) {
	s.rec.Record(Event{Kind: Note, Reason: "meanwhile"})
	switch s.lines++; s.lines {
	case 10:
		s.cancel()
	case 1000:
		return 0, errors.New("the reader goes on after its context ended")
	}
	return len(line), nil
}

func TestAReaderThatLagsBehindNoticesTheEndOfItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &slowTerminal{rec: New(64), cancel: cancel}
	s.rec.Record(Event{Kind: Note})
	require.NoError(t, Timeline{}.Follow(ctx, s.rec, s))
	assert.Equal(t, 11, s.lines, "what was recorded before the end is still written")
}

// A Service web selects the pods of a Deployment web. A user who asks about one must not get the
// story of the other.
func TestADeploymentAndAServiceOfOneNameAreTwoStories(t *testing.T) {
	events := []Event{
		{Kind: WatchEvent, Object: "Deployment", Namespace: "default", Name: "web", Version: "5"},
		{
			Kind: Handler, Object: "Pod", Namespace: "default", Name: "web-1", Version: "6",
			ToObject: "Deployment", ToNamespace: "default", ToName: "web",
		},
		{
			Kind: Handler, Object: "Pod", Namespace: "default", Name: "web-1", Version: "6",
			ToObject: "Service", ToNamespace: "default", ToName: "web",
		},
		{Kind: Enqueue, Object: "Deployment", Namespace: "default", Name: "web"},
		{Kind: Enqueue, Object: "Service", Namespace: "default", Name: "web"},
		{
			Kind: Enqueue, Namespace: "default", Name: "web",
			Reason: "by a layer that does not know kinds",
		},
		{
			Kind: Handler, Object: "Pod", Namespace: "default", Name: "web-1", Version: "7",
			ToNamespace: "default", ToName: "web",
		},
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	seqs := func(events []Event) (seqs []uint64) {
		for _, e := range events {
			seqs = append(seqs, e.Seq)
		}
		return seqs
	}
	assert.Equal(t, []uint64{1, 2, 4, 6, 7},
		seqs(Filter{Object: "Deployment", Name: "web"}.Select(events)))
	assert.Equal(t, []uint64{3, 5, 6, 7}, seqs(Why(events, "Service", "default", "web")))
	assert.Len(t, Filter{Name: "web"}.Select(events), 7, "without a kind, all of them match")
	assert.Contains(t, Timeline{}.Line(events[2]), "asks for Service default/web")
	assert.Contains(t, Timeline{}.Line(events[4]), "Service default/web")
}

func TestEveryKindAndOutcomeHasANameAndASentence(t *testing.T) {
	for k := List; k <= Note; k++ {
		assert.NotEqual(t, "unknown", k.String(), "kind %d", k)
		assert.LessOrEqual(t, len(k.String()), kindWidth)
		e := Event{Kind: k, Op: "op", Reason: "reason", Version: "7", ToName: "x"}
		assert.NotEmpty(t, narrate(e), "kind %s", k)
	}
	for o := Succeeded; o <= Waiting; o++ {
		assert.NotEqual(t, "unknown", o.String(), "outcome %d", o)
	}
	for _, k := range []Kind{0, Note + 1, 200} {
		assert.Equal(t, "unknown", k.String(),
			"kind %d: an event of a newer program must not crash this one", k)
	}
	assert.Equal(t, "unknown", (Waiting + 1).String())
}

// Right after a 410, a stream of all objects has the version that the server has just refused. If
// its line looked like that of the watch that failed, a user would believe that the client asked
// for the same again.
func TestAStreamOfAllThereIsDoesNotLookLikeAWatchThatGoesOn(t *testing.T) {
	for want, event := range inorder.Map(map[string]Event{
		"watching":                         {Kind: WatchStart},
		"watching from resourceVersion 43": {Kind: WatchStart, Version: "43"},
		"streaming all there is":           {Kind: WatchStart, Op: WatchList},
		"streaming all there is, no older than resourceVersion 43": {
			Kind: WatchStart, Op: WatchList, Version: "43",
		},
	}) {
		assert.Equal(t, want, narrate(event))
	}
}

func TestJSONLinesKeepTheirFieldNames(t *testing.T) {
	full := Event{Seq: 7, At: time.Second, Kind: Handler, Outcome: Passed, Layer: "l",
		Object:    "Pod",
		Namespace: "ns", Name: "n", Version: "5", ToObject: "Tkind", ToNamespace: "tns",
		ToName: "tn", Op: "Create",
		Reason: "a<b", Count: 2, Took: time.Microsecond}
	var out bytes.Buffer
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, WriteJSON(&out, started, []Event{full, {Seq: 8, Kind: Note}}))
	assert.Equal(t, `{"seq":7,"time":"2026-01-02T03:04:06Z","kind":"handler","outcome":"passed","layer":"l","object":"Pod","namespace":"ns","name":"n","resourceVersion":"5","toObject":"Tkind","toNamespace":"tns","toName":"tn","op":"Create","reason":"a<b","count":2,"tookNanos":1000,"text":"Create asks for Tkind tns/tn: a<b"}
{"seq":8,"time":"2026-01-02T03:04:05Z","kind":"note"}
`, out.String())
	for l := range bytes.Lines(out.Bytes()) {
		assert.True(t, json.Valid(l))
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAnOutputThatFailsIsReported(t *testing.T) {
	assert.ErrorContains(t, Timeline{}.Write(brokenPipe{}, story()), "broken pipe")
	assert.ErrorContains(t, WriteJSON(brokenPipe{}, time.Time{}, story()), "broken pipe")
}
