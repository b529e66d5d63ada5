package informer

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

// answersTo are the inputs that an action's command can lead to, with versions
// around what the sink has.
func answersTo(act action, m machine, at time.Duration) []input {
	floor, _ := strconv.Atoi(m.floor)
	newer, older := strconv.Itoa(floor+1), strconv.Itoa(max(1, floor-1))
	var answers []input
	failures := func() {
		for f := faultBroken; f <= faultStalled; f++ {
			answers = append(answers, input{kind: inFailed, fault: f, answered: f != faultBroken && f != faultStalled, at: at})
		}
	}
	switch act.do {
	case doStream, doWatch:
		answers = append(answers, input{kind: inOpened, at: at})
		failures()
	case doRead:
		for _, version := range []string{newer, older, ""} {
			for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
				answers = append(answers, input{kind: inEvent, event: event, version: version, at: at})
			}
			answers = append(answers, input{kind: inEvent, event: watch.Bookmark, last: true, version: version, at: at})
		}
		answers = append(answers, input{kind: inEnded, at: at})
		failures()
	case doList, doPage:
		for _, version := range []string{newer, older} {
			answers = append(answers, input{kind: inPage, version: version, at: at}, input{kind: inPage, version: version, last: true, at: at})
		}
		failures()
	case doPause:
		answers = append(answers, input{kind: inRested, at: at})
	}
	return answers
}

// walk checks what must hold at every step, whatever the server answers.
type walk struct {
	m        machine
	act      action
	synced   bool
	aside    bool // something was put aside
	requests int  // since the last pause or news
	views    int  // asked for since the last pause or whole view; a page is no news if the list begins anew
}

func (w walk) step(t testing.TB, in input) walk {
	before := w.m
	w.m, w.act = before.step(in)
	m, act := w.m, w.act
	order, err := resourceversion.CompareResourceVersion(m.floor, before.floor)
	switch {
	case err == nil && order < 0:
		t.Fatalf("the floor went back from %s to %s after %+v", before.floor, m.floor, in)
	case before.floor != "" && m.floor == "":
		if before.doubts != tries-1 {
			t.Fatalf("the floor was forgotten after %d doubts", before.doubts)
		}
	}
	if act.do == doPause || act.deliver == deliverReplace {
		w.views = 0
	}
	switch act.deliver {
	case deliverCollect:
		w.aside = true
	case deliverReplace:
		w.synced, w.aside = true, false
	case deliverDiscard:
		w.aside = false
	case deliverApply, deliverProgress:
		if !w.synced || m.state != StateWatching {
			t.Fatalf("%v in %s, synced: %v", act.deliver, m.state, w.synced)
		}
	}
	if (m.state == StateWatching || m.state == StateConnecting) && (w.aside || m.cursor.MustList()) {
		t.Fatalf("watching from %q with a view put aside: %v", m.cursor.ResourceVersion(), w.aside)
	}
	switch act.do {
	case doRead:
		if in.kind != inOpened && in.kind != inEvent {
			t.Fatalf("reading on after %+v", in)
		}
		if in.kind == inEvent {
			w.requests = 0
		}
	case doPause:
		w.requests = 0
		if act.pause <= 0 || act.pause > defaultMostPause {
			t.Fatalf("a pause of %s", act.pause)
		}
	case doStop:
		t.Fatal("it stopped, though nobody said so")
	default:
		if act.do == doStream || act.do == doList {
			if w.views++; w.views > 4 {
				t.Fatalf("%d views asked for without a pause: a busy loop", w.views)
			}
		}
		if in.kind == inPage || in.kind == inEnded {
			w.requests = 0 // progress, or a watch that lived
		}
		if w.requests++; w.requests > 4 {
			t.Fatalf("%d requests without a pause: a busy loop", w.requests)
		}
	}
	return w
}

func begun(t testing.TB, streams bool) walk {
	return walk{m: machine{streams: streams}}.step(t, input{kind: inBegin})
}

// Every story of up to six answers: nearly a million of them.
func TestWhateverTheServerAnswersTheMachineKeepsItsPromises(t *testing.T) {
	depth := 6
	if testing.Short() {
		depth = 5
	}
	stories := 0
	var explore func(w walk, depth int)
	explore = func(w walk, depth int) {
		if depth == 0 {
			stories++
			return
		}
		for _, in := range answersTo(w.act, w.m, w.m.since) {
			explore(w.step(t, in), depth-1)
		}
	}
	explore(begun(t, true), depth)
	explore(begun(t, false), depth)
	require.Greater(t, stories, 10_000)
	t.Logf("%d stories", stories)
}

// Long stories: counters that overflow, promises that wear out.
func TestLongStoriesEndWell(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 5))
		w := begun(t, seed%2 == 0)
		at := time.Duration(0)
		for range 2000 {
			at += time.Duration(random.IntN(20)) * time.Second
			answers := answersTo(w.act, w.m, at)
			w = w.step(t, answers[random.IntN(len(answers))])
		}
		// Then the server is well again, and the view must be whole soon.
		for range 20 {
			if w.m.state == StateWatching && w.act.do == doRead {
				break
			}
			w = w.step(t, wellAnswer(w, at))
		}
		require.Equal(t, StateWatching, w.m.state, "seed %d: a server that is well must be read", seed)
	}
}

// wellAnswer is that of a server that does all it is asked for.
func wellAnswer(w walk, at time.Duration) input {
	floor, _ := strconv.Atoi(w.m.floor)
	newer := strconv.Itoa(floor + 1)
	switch w.act.do {
	case doStream, doWatch:
		return input{kind: inOpened, at: at}
	case doRead:
		return input{kind: inEvent, event: watch.Bookmark, last: true, version: newer, at: at}
	case doList, doPage:
		return input{kind: inPage, last: true, version: newer, at: at}
	default:
		return input{kind: inRested, at: at}
	}
}

// FuzzMachine: each byte chooses one of the answers that the server could give.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 14, 0, 0, 3, 0}, true)
	f.Add([]byte{1, 0, 2, 0, 4, 9, 9, 0}, false)
	f.Add([]byte{0, 4, 0, 0, 15, 0, 0, 16, 0}, true)
	f.Add([]byte{4, 0, 3, 3, 3, 3, 0, 21, 0, 2}, true)
	f.Fuzz(func(t *testing.T, choices []byte, streams bool) {
		w, at := begun(t, streams), time.Duration(0)
		for _, choice := range choices {
			at += time.Duration(choice) * time.Second / 8
			answers := answersTo(w.act, w.m, at)
			w = w.step(t, answers[int(choice)%len(answers)])
		}
	})
}
