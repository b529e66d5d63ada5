package informer

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/loopwright/loopwright/internal/tests/inorder"
)

// answersTo are the inputs that an action's command can lead to, with versions
// around what the sink has.
func answersTo(act action, m machine, at time.Duration) []input {
	floor, _ := strconv.Atoi(m.floor)
	newer, older := strconv.Itoa(floor+1), strconv.Itoa(max(1, floor-1))
	var answers []input
	failures := func() {
		for f := faultBroken; f <= faultUnreadable; f++ {
			answers = append(answers, input{kind: inFailed, fault: f, at: at})
		}
		answers = append(answers, input{kind: inFailed, asked: 3 * time.Second, at: at})
	}
	switch act.do {
	case doStream, doWatch:
		answers = append(answers, input{kind: inOpened, at: at})
		failures()
	case doRead:
		for _, version := range []string{newer, older, ""} {
			for _, event := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted,
				watch.Bookmark} {
				answers = append(answers, input{kind: inEvent, event: event, version: version, at: at})
			}
			answers = append(answers, input{kind: inEvent, event: watch.Bookmark, last: true,
				version: version, at: at})
		}
		answers = append(answers, input{kind: inEnded, at: at}, input{kind: inEnded, at: at +
			time.Minute}, input{kind: inFailed, at: at + time.Minute})
		failures()
	case doList, doPage:
		for _, version := range []string{newer, older} {
			answers = append(answers, input{kind: inPage, version: version, at: at}, input{kind: inPage,
				version: version, last: true, at: at})
		}
		answers = append(answers, input{kind: inPage, last: true, at: at}) // no version: metrics.k8s.io
		failures()
	case doPause:
		answers = append(answers, input{kind: inPaused, at: at})
	}
	return answers
}

// walk checks what must hold at every step, whatever the server answers.
type walk struct {
	m         machine
	act       action
	exercised *exercised
	synced    bool
	collected bool // something was kept until the view is whole
	requests  int  // since the last pause or news
	// asked for since the last pause or whole view; a page is no news if the list starts over
	views int
	at    time.Duration
}

func (w walk) step(t testing.TB, in input) walk {
	before := w.m
	w.m, w.act = before.step(in)
	m, act := w.m, w.act
	w.at = in.at
	w.exercised.note(before, in, m, act)
	order, err := resourceversion.CompareResourceVersion(m.floor, before.floor)
	switch {
	case err == nil && order < 0:
		t.Fatalf("the floor went back from %s to %s after %+v", before.floor, m.floor, in)
	case before.floor != "" && m.floor == "" && !m.polls:
		if before.olderViews != tries-1 {
			t.Fatalf("the floor was forgotten after %d older views", before.olderViews)
		}
	}
	if before.streams && !m.streams && in.fault != faultUnsupported {
		t.Fatalf("streams were given up for all of this Run, and the server had not refused them: %+v",
			in)
	}
	if act.do == doPause || act.deliver == deliverReplace {
		w.views = 0
	}
	switch act.deliver {
	case deliverCollect:
		w.collected = true
	case deliverReplace:
		w.synced, w.collected = true, false
	case deliverDiscard:
		w.collected = false
	case deliverApply, deliverProgress:
		if !w.synced || m.state != StateWatching {
			t.Fatalf("%v in %s, synced: %v", act.deliver, m.state, w.synced)
		}
	}
	if (m.state == StateWatching || m.state == StateConnecting) && (w.collected ||
		m.cursor.MustList()) {
		t.Fatalf("watching from %q with half a view: %v", m.cursor.ResourceVersion(), w.collected)
	}
	return w.did(t, before, in)
}

// did checks the action's command.
func (w walk) did(t testing.TB, before machine, in input) walk {
	m, act := w.m, w.act
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
		most := defaultMostPause
		if m.state == StatePolling {
			most = m.poll + m.poll/10
		}
		if act.pause <= 0 || act.pause > most {
			t.Fatalf("a pause of %s in %s", act.pause, m.state)
		}
		lived := before.open && before.state == StateWatching && in.at-before.openAt >= defaultHealthy
		silent := before.quiet+in.at-before.openAt >= maxQuiet && !before.heard
		if lived && !silent && in.kind != inEvent && in.fault.isTemporary() && in.asked == 0 {
			t.Fatalf("a pause after a watch that lived for %s: %+v", in.at-before.openAt, in)
		}
	case doStop:
		t.Fatal("it stopped, though nobody said so")
	default:
		if m.polls && act.do != doList && act.do != doPage {
			t.Fatalf("%s, though the lists have no version to watch from", act.do)
		}
		if act.do == doStream || act.do == doList {
			if w.views++; w.views > 4 {
				t.Fatalf("%d views asked for without a pause: a busy loop", w.views)
			}
		}
		if in.kind == inPage || before.state == StateWatching {
			w.requests = 0 // progress, or a watch that lived
		}
		if w.requests++; w.requests > 4 {
			t.Fatalf("%d requests without a pause: a busy loop", w.requests)
		}
	}
	return w
}

// exercised is what the stories of a test led to. A test whose stories never go
// wrong, or always in the same way, proves nothing.
type exercised struct {
	moves     map[[2]State]int
	faults    map[State]map[faultKind]int
	fallbacks map[string]int // by the counter that led to them
}

func newExercised() *exercised {
	return &exercised{map[[2]State]int{}, map[State]map[faultKind]int{}, map[string]int{}}
}

func (e *exercised) note(before machine, in input, m machine, act action) {
	e.moves[[2]State{before.state, m.state}]++
	if in.kind == inFailed {
		if e.faults[before.state] == nil {
			e.faults[before.state] = map[faultKind]int{}
		}
		e.faults[before.state][in.fault]++
	}
	for counter, reached := range inorder.Map(map[string]bool{
		"failedStreams": before.failedStreams == tries-1 && m.failedStreams == tries,
		"failedPages": before.failedPages == tries-1 && in.fault.isTemporary() && m.next == doStream &&
			act.do == doPause,
		"failedLists": before.failedLists == tries-1 && m.failedLists == tries && !before.newest &&
			m.newest,
		"brokenWatches": before.brokenWatches == tries-1 && in.fault.isTemporary() &&
			act.do == doPause && m.cursor.MustList(),
		"olderViews": before.olderViews == tries-1 && m.olderViews == tries && m.floor == "",
	}) {
		if reached {
			e.fallbacks[counter]++
		}
	}
}

// everything fails a test whose stories left out a state, a fault or a fallback.
func (e *exercised) everything(t *testing.T) {
	t.Helper()
	moves := map[State][]State{
		StateIdle:       {StateStreaming, StateListing},
		StateStreaming:  {StateStreaming, StateListing, StateWatching, StateWaiting},
		StateListing:    {StateListing, StateConnecting, StatePolling, StateWaiting},
		StatePolling:    {StatePolling, StateConnecting, StateWaiting},
		StateConnecting: {StateWatching, StateWaiting},
		StateWatching:   {StateWatching, StateConnecting, StateWaiting},
		StateWaiting:    {StateStreaming, StateListing, StatePolling, StateConnecting},
	}
	for from, states := range inorder.Map(moves) {
		for _, to := range states {
			require.Positive(t, e.moves[[2]State{from, to}], "no story led from %s to %s", from, to)
		}
	}
	possible := 0
	for _, states := range moves {
		possible += len(states)
	}
	require.Len(t, e.moves, possible, "a story took a way that nobody has thought of: %v", e.moves)
	for _, state := range []State{StateStreaming, StateListing, StatePolling, StateConnecting,
		StateWatching} {
		for f := faultBroken; f <= faultUnreadable; f++ {
			require.Positive(t, e.faults[state][f], "no story had fault %d in state %s", f, state)
		}
	}
}

func begun(t testing.TB, streams bool, e *exercised) walk {
	return walk{m: machine{streams: streams, poll: 30 * time.Second}, exercised: e}.step(t,
		input{kind: inBegin})
}

// Every story of up to six answers: millions of them.
func TestWhateverTheServerAnswersTheMachineKeepsItsPromises(t *testing.T) {
	depth, least := 6, 1_000_000 // the chapter says so
	if testing.Short() {
		depth, least = 5, 10_000
	}
	stories, e := 0, newExercised()
	var explore func(w walk, depth int)
	explore = func(w walk, depth int) {
		if depth == 0 {
			stories++
			return
		}
		for _, in := range answersTo(w.act, w.m, w.at) {
			explore(w.step(t, in), depth-1)
		}
	}
	explore(begun(t, true, e), depth)
	explore(begun(t, false, e), depth)
	require.Greater(t, stories, least)
	require.Positive(t, e.moves[[2]State{StateWatching, StateConnecting}],
		"no story had a watch that lived")
	t.Logf("%d stories, %v", stories, e.moves)
}

// Long stories: counters that overflow, promises that wear out.
func TestLongStoriesEndWell(t *testing.T) {
	e := newExercised()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 5))
		w := begun(t, seed%2 == 0, e)
		at := time.Duration(0)
		for range 2000 {
			at = max(at, w.at) + time.Duration(random.IntN(20))*time.Second/4
			answers := answersTo(w.act, w.m, at)
			w = w.step(t, answers[random.IntN(len(answers))])
		}
		// Then the server is well again, and the view must be whole soon.
		for range 20 {
			if w.m.state == StateWatching && w.act.do == doRead {
				break
			}
			w = w.step(t, wellAnswer(w, max(at, w.at)))
		}
		require.Equal(t, StateWatching, w.m.state, "seed %d: a server that is well must be read", seed)
	}
	e.everything(t)
	for _, counter := range []string{"failedStreams", "failedPages", "failedLists", "brokenWatches",
		"olderViews"} {
		require.Greater(t, e.fallbacks[counter], 3,
			"hardly a story in which %s led to something else: %v", counter, e.fallbacks)
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
		return input{kind: inPaused, at: at}
	}
}

// FuzzMachine: each byte chooses one of the answers that the server could give.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 14, 0, 0, 3, 0}, true)
	f.Add([]byte{1, 0, 2, 0, 4, 9, 9, 0}, false)
	f.Add([]byte{0, 4, 0, 0, 15, 0, 0, 16, 0}, true)
	f.Add([]byte{4, 0, 3, 3, 3, 3, 0, 21, 0, 2}, true)
	f.Fuzz(func(t *testing.T, choices []byte, streams bool) {
		w, at := begun(t, streams, newExercised()), time.Duration(0)
		for _, choice := range choices {
			at = max(at, w.at) + time.Duration(choice)*time.Second/8
			answers := answersTo(w.act, w.m, at)
			w = w.step(t, answers[int(choice)%len(answers)])
		}
	})
}

// The chapter draws the machine's states. Each arrow must be a way that the machine
// takes, and each way must have an arrow, or readers learn another machine.
func TestTheChaptersDiagramHasTheMachinesTransitions(t *testing.T) {
	text, err := os.ReadFile("../chapters/03-reflector/library.md")
	require.NoError(t, err)
	_, diagram, found := strings.Cut(string(text), "stateDiagram-v2")
	require.True(t, found, "the chapter must have a state diagram")
	diagram, _, _ = strings.Cut(diagram, "```")
	drawn := map[string]bool{}
	for _, arrow := range regexp.MustCompile(`(\S+) --> (\w+)`).FindAllStringSubmatch(diagram, -1) {
		drawn[strings.ToLower(strings.ReplaceAll(arrow[1], "[*]", "idle")+" to "+arrow[2])] = true
	}

	e := newExercised()
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 7))
		w, at := begun(t, seed%2 == 0, e), time.Duration(0)
		for range 500 {
			at = max(at, w.at) + time.Duration(random.IntN(20))*time.Second/4
			answers := answersTo(w.act, w.m, at)
			w = w.step(t, answers[random.IntN(len(answers))])
		}
	}
	taken := map[string]bool{}
	for move := range e.moves {
		taken[move[0].String()+" to "+move[1].String()] = true
	}
	require.Equal(t, taken, drawn)
}
