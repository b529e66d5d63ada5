package workqueue

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Adds are merged in any order, and so are causes that were merged before, as when an alarm
// goes off for an item that waits.
func TestCausesThatAreMergedHaveTheFirstReasonsOfAllAndEachOnce(t *testing.T) {
	seen := exercised{}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 66))
		var all Causes
		var adds int
		var reasons []string
		for range 1 + random.IntN(4) {
			var later Causes
			var more []string
			for range 1 + random.IntN(4) {
				reason := ""
				if n := random.IntN(7); n > 0 {
					reason = strconv.Itoa(n)
				}
				one := because(reason)
				later.merge(one)
				adds++
				if reason != "" && !slices.Contains(more, reason) && len(more) < keptReasons {
					more = append(more, reason)
				}
			}
			all.merge(later)
			for _, reason := range more {
				seen.count("a reason comes again", slices.Contains(reasons, reason))
				seen.count("a reason is too many", !slices.Contains(reasons, reason) && len(reasons) == keptReasons)
				if !slices.Contains(reasons, reason) && len(reasons) < keptReasons {
					reasons = append(reasons, reason)
				}
			}
			seen.count("causes with several reasons are merged", len(more) > 1)
			require.Equal(t, adds, all.Count, "each add counts, with a reason or without")
			require.Equal(t, reasons, all.Reasons(), "the first few reasons are kept, each once, in the order in which they came")
		}
	}
	seen.require(t, exercised{
		"a reason comes again":                   300,
		"a reason is too many":                   100,
		"causes with several reasons are merged": 500,
	})
}

func TestCausesAreShortInALogLine(t *testing.T) {
	three := Causes{Count: 3}
	require.Equal(t, "3 adds", three.String())
	require.Equal(t, "", Causes{Count: 1}.String())
	require.Equal(t, "changed", because("changed").String())
	three.merge(because("changed"))
	three.merge(because("deleted"))
	require.Equal(t, "changed, deleted (5 adds)", three.String())
}
