//go:build figures

package watching

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/docs/book/figures/figure"
	"github.com/loopwright/loopwright/docs/book/figures/figuretest"
)

// The machine's own tests hold it to its promises. These hold the figure to the machine: what a reader presses is what
// happens, and what is said is what was decided.
func TestTheReflectorDecidesAsTheChapterSays(t *testing.T) {
	watching := "begin accept initial whole"
	for _, c := range []struct {
		name, presses, state, cursor, said string
	}{
		{"the end of the initial events makes the view whole", watching, "watching", "102", "Hand the whole view to the sink"},
		{"a watch that lived is opened again at once", watching + " break late", "connecting", "102", "Watch from 102"},
		{"one that did not waits, and keeps its place", watching + " break early", "waiting", "102", "nothing is lost but time"},
		{"the third in a row leads to a new view", watching + " break early rest accept break early rest accept break early", "waiting", "", "That was the third time in a row: brokenWatches begins at 0 again"},
		{"410 takes the place away", watching + " gone", "waiting", "", "then ask for a new view"},
		{"after 410 and the pause comes a stream that is no older", watching + " gone rest", "streaming", "", "no older than 102"},
		{"a server that refuses streams is asked for a list", "begin unknown", "listing", "", "the server refuses WatchList"},
		{"an ordinary bookmark: it does not know streams", "begin accept bookmark", "listing", "", "bookmark that ends nothing"},
		{"a list without a version is polled", "begin unknown versionless", "polling", "", "is polled every 30s"},
		{"a list with a version again is watched from", "begin unknown versionless rest page", "connecting", "101", "Watch from 101"},
		{"the third failure of a list asks for the newest", "begin unknown break rest break rest break", "waiting", "", "the newest there is"},
		{"a busy server is left alone for as long as it asks", "begin busy", "waiting", "", "Pause for 7.25 s"},
		{"a view from the past is refused", watching + " gone rest accept older", "waiting", "", "which is older"},
		{"a version that the server has not seen yet is not asked for again", watching + " gone rest future", "streaming", "", "From now on it asks for the newest there is"},
		{"a stall leads to a list at once", "begin accept stall", "listing", "", "stalled"},
	} {
		s := Reflector.Open()
		s.Do(figure.Action{Key: "restart"})
		s.Do(figure.Action{Key: "streams", Value: "true"})
		for key := range keysOf(c.presses) {
			figuretest.Press(t, s, figure.Action{Key: key})
		}
		memory := s.Figure().(*reflector).machine.Memory()
		require.Equal(t, c.state, memory.State, c.name)
		require.Equal(t, c.cursor, memory.Cursor, c.name)
		require.Contains(t, strings.ToLower(s.Said()), strings.ToLower(c.said), c.name)
	}
}

// What the machine decides fits several causes. The sentence is about the one that was there.
func TestTheReflectorSaysNoMoreThanHappened(t *testing.T) {
	for _, c := range []struct{ presses, said, never string }{
		{"begin break", "the connection fails. pause for 0.75 s", "stream ended"},
		{"begin break", "failedstreams counts 1 of 3.", "throw away"},
		{"begin accept initial break", "throw away what was collected", "begins at 0"},
		{"begin unknown", "the server refuses watchlist. list in pages", ". the server refuses watchlist"},
		{"begin accept bookmark", "failedstreams is 3 of 3 at once", "throw away"},
		{"begin accept whole break early rest accept changed", "brokenwatches begins at 0 again", "third time"},
		{"begin break rest busy", "pause for 7.5 s", "gets longer"},
	} {
		s := Reflector.Open()
		s.Do(figure.Action{Key: "restart"})
		for key := range keysOf(c.presses) {
			figuretest.Press(t, s, figure.Action{Key: key})
		}
		require.Contains(t, strings.ToLower(s.Said()), c.said, c.presses)
		require.NotContains(t, strings.ToLower(s.Said()), c.never, c.presses)
	}
}

// keysOf are the keys of a story. Some have two words.
func keysOf(story string) func(yield func(string) bool) {
	joined := strings.NewReplacer("break early", "break-early", "break late", "break-late", "end early", "end-early", "end late", "end-late").Replace(story)
	return func(yield func(string) bool) {
		for word := range strings.FieldsSeq(joined) {
			if !yield(strings.ReplaceAll(word, "-", " ")) {
				return
			}
		}
	}
}

// Whatever a reader lets go wrong: the sink's view never goes back, nothing reaches the sink before the view is whole,
// and there is always something that can happen next.
func TestWhateverGoesWrongTheReflectorOfTheFigureGoesOn(t *testing.T) {
	states := map[string]bool{}
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 5))
		r := newReflector(seed%3 > 0)
		whole, floor := false, 0
		for range 200 {
			answers := r.answers()
			require.NotEmpty(t, answers, "nothing can happen after %s", r.last.Do)
			said := r.Do(figure.Action{Key: answers[random.IntN(len(answers))].key})
			require.NotEmpty(t, said)
			whole = whole || r.last.Deliver == "replace"
			if r.last.Deliver == "apply" || r.last.Deliver == "progress" {
				require.True(t, whole, said)
			}
			memory := r.machine.Memory()
			states[memory.State] = true
			if memory.Floor == "" {
				floor = 0 // forgotten: the history went back
			} else {
				next, err := strconv.Atoi(memory.Floor)
				require.NoError(t, err)
				require.GreaterOrEqual(t, next, floor, said)
				floor = next
			}
		}
	}
	require.Len(t, states, 6, "all but idle, which is before the first step: %v", states)
}
