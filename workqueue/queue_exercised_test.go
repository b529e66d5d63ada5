package workqueue

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// exercised counts what a random test has really done, over all of its scripts. A script
// that never fills a queue says nothing about full queues, and passes all the same.
type exercised map[string]int

// count counts something that happened. It is not counted if it did not: happened is
// usually the condition under which a step has an effect.
func (x exercised) count(what string, happened bool) {
	if happened {
		x[what]++
	}
}

// most keeps the largest number of something that was there at the same moment.
func (x exercised) most(what string, n int) { x[what] = max(x[what], n) }

// require fails if one of these happened less often. A single script of a fuzz test may
// be trivial, so this is for the run of all seeds.
func (x exercised) require(t *testing.T, atLeast exercised) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(atLeast)) {
		require.GreaterOrEqual(t, x[what], atLeast[what], "the random scripts hardly try this, so they prove nothing about it: %s", what)
	}
	for _, what := range slices.Sorted(maps.Keys(x)) {
		require.Contains(t, atLeast, what, "this is counted, and nothing says how often it has to happen")
	}
}
