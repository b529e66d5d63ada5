package mutants

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Wraps that are not nested properly would change what the code means.
func TestSwitchesAreNestedAsTheCodeIs(t *testing.T) {
	got := insert("a+b; c", []wrap{
		{start: 0, end: 3, open: "[", close: "]", inner: true},
		{start: 0, end: 1, open: "<", close: ">"},
		{start: 0, end: 3, open: "{", close: "}"},
		{start: 5, end: 5, open: "!"},
		{start: 5, end: 6, open: "(", close: ")"},
	})
	require.Equal(t, "{[<a>+b]}; (!c)", got)
}

// A score that counts what no test reaches would be a wrong aim.
func TestOnlyWhatIsReachedCounts(t *testing.T) {
	var outcomes []Outcome
	for _, v := range []verdict{survived, killed, hung, killed, uncovered} {
		outcomes = append(outcomes, Outcome{verdict: v})
	}
	s := tally(outcomes)
	require.Equal(t, sums{mutants: 5, covered: 4, killed: 3, hung: 1}, s)
	require.InDelta(t, 75, s.score(), 0.01)
}
