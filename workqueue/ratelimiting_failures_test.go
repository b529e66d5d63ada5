package workqueue

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Function: backoff
func TestBackoffDoublesWithEachFailure(t *testing.T) {
	var ladder []time.Duration
	for failures := range 5 {
		ladder = append(ladder, backoff(5, 1000, failures))
	}
	require.Equal(t, []time.Duration{5, 10, 20, 40, 80}, ladder, "the first delay is the base, and each is twice the one before")
}

// Function: backoff
func TestBackoffEndsAtItsLimit(t *testing.T) {
	require.Equal(t, time.Duration(1000), backoff(5, 1000, 8), "5 << 8 is 1280, more than the limit of 1000: an item must not wait longer")
	require.Equal(t, time.Duration(1000), backoff(2000, 1000, 0), "a base above the limit is the limit")
}

// An item that fails for days reaches a hundred failures. With an overflow it
// would be tried again and again without a pause.
//
// Function: backoff
func TestBackoffDoesNotOverflow(t *testing.T) {
	for _, failures := range []int{40, 61, 62, 63, 64, 65, 1000, math.MaxInt} {
		require.Equal(t, 1000*time.Second, backoff(5*time.Millisecond, 1000*time.Second, failures), "after %d failures", failures)
		require.Equal(t, time.Duration(math.MaxInt64), backoff(3, math.MaxInt64, max(failures, 62)), "after %d failures, without a limit to speak of", failures)
	}
}

// A user may have computed the base, and computed wrongly.
//
// Function: backoff
func TestBackoffWithoutABaseIsNone(t *testing.T) {
	for _, failures := range []int{0, 1, 61, 62, 63, 1000} {
		require.Zero(t, backoff(0, 1000, failures), "a base of zero stays zero, however often it is doubled: %d failures", failures)
		require.Zero(t, backoff(-3, 1000, failures), "a base below zero is no delay: %d failures", failures)
	}
}

// Function: backoff
func TestBackoffIsExact(t *testing.T) {
	for _, base := range []time.Duration{1, 3, 5 * time.Millisecond, time.Hour, math.MaxInt64} {
		for _, limit := range []time.Duration{1, 1000, 1000 * time.Second, math.MaxInt64} {
			for failures := range 70 {
				want := new(big.Int).Lsh(big.NewInt(int64(base)), uint(failures))
				if want.Cmp(big.NewInt(int64(limit))) > 0 {
					want.SetInt64(int64(limit))
				}
				require.Equal(t, want.Int64(), int64(backoff(base, limit, failures)), "base %d, limit %d, %d failures", base, limit, failures)
			}
		}
	}
}

// Function: failureCounter.failed or failureCounter.forget
func TestFailuresAreCountedForEachItemUntilItIsForgotten(t *testing.T) {
	var f failureCounter[string]
	require.Equal(t, 0, f.failed("a"), "before the first failure there was none")
	require.Equal(t, 1, f.failed("a"), "each failure counts, or an item that keeps failing never waits longer")
	require.Equal(t, 0, f.failed("b"), "other items have their own count")
	require.Equal(t, 2, f.count("a"), "the item failed twice")
	f.forget("a")
	f.forget("a")
	require.Equal(t, 0, f.count("a"), "a success ends the count: the next failure is the first")
	require.Equal(t, 1, f.count("b"), "to forget one is not to forget the others")
	require.Equal(t, 1, f.young.len(), "one item is remembered: one that is forgotten must take no room, or all objects that ever failed pile up")
}

// An item that fails for weeks waits the longest delay each time. With a count that starts
// over it would be tried every few milliseconds again.
//
// Function: failureCounter.failed
func TestFailuresAreCountedForWeeks(t *testing.T) {
	for _, generationSize := range []int{0, 3} {
		f := failureCounter[string]{generationSize: generationSize}
		for before := range 70_000 {
			require.True(t, before == f.failed("a"), "the item failed %d times before, and failed returns something else: does the count fit into its type?", before)
		}
		require.Equal(t, 70_000, f.count("a"), "the item failed 70,000 times")
	}
}

// Function: failureCounter.failed
func TestFailuresAreAllRememberedIfThereIsNoLimit(t *testing.T) {
	var f failureCounter[int]
	for item := range 1000 {
		f.failed(item)
	}
	for item := range 1000 {
		require.Equal(t, 1, f.count(item), "a generationSize of 0 is no limit, and item %d of 1000 is forgotten", item)
	}
}

// Function: failureCounter.failed
func TestFailuresAreRememberedUpToALimit(t *testing.T) {
	f := failureCounter[int]{generationSize: 3}
	var counts []int
	for item := range 10 {
		f.failed(item)
	}
	for item := range 10 {
		counts = append(counts, f.count(item))
	}
	require.Equal(t, []int{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}, counts, "ten items failed, with room for three in a generation: the last is in the young one, the three before it are in the old one")
	for item := range 100 {
		f.failed(item)
	}
	require.LessOrEqual(t, f.young.len(), 3, "a generation has room for three: the fourth begins a new one")
	require.LessOrEqual(t, f.young.len()+f.old.len(), 6, "memory must be bounded: objects that are gone are never forgotten by their controller")
	require.Equal(t, []int{1, 1, 1}, []int{f.count(97), f.count(98), f.count(99)}, "the last three that failed are remembered, whatever else is dropped")
}

// An item that fails again and again, while others come and go, must climb on.
//
// Function: failureCounter.failed
func TestFailuresOfAnItemThatKeepsFailingAreNotDropped(t *testing.T) {
	f := failureCounter[int]{generationSize: 3}
	for round := range 50 {
		require.Equal(t, round, f.failed(-1), "the item failed %d times, and climbs the ladder no further", round)
		f.failed(2 * round)
		f.failed(2*round + 1)
	}
}

// With room for two in a generation, "a" is in the old one when it fails again.
//
// Function: failureCounter.failed
func TestFailuresInTheOldGenerationGoOn(t *testing.T) {
	f := failureCounter[string]{generationSize: 2}
	for _, item := range []string{"a", "b", "c", "d"} {
		require.Equal(t, 0, f.failed(item), "%s fails for the first time", item)
	}
	require.Equal(t, 1, f.failed("a"), "the item was in the old generation, which is dropped at this failure: its count must be read before")
	require.Equal(t, 2, f.count("a"), "the item failed twice: the count of the old generation goes on in the young one")
}

// One item that fails again and again must not push the others out.
//
// Function: failureCounter.failed
func TestFailuresOfAYoungItemDropNothing(t *testing.T) {
	f := failureCounter[string]{generationSize: 2}
	for _, item := range []string{"x", "y", "a", "b", "a"} {
		f.failed(item)
	}
	require.Equal(t, 1, f.count("x"), "the item that failed again was young already and takes no more room: nobody may be forgotten for it")
	require.Equal(t, 2, f.count("a"), "the item failed twice")
}

// Function: failureCounter.forget
func TestFailuresThatAreForgottenDoNotComeBack(t *testing.T) {
	f := failureCounter[int]{generationSize: 2}
	f.failed(1)
	f.failed(2)
	f.failed(3) // 1 and 2 are the old generation now
	f.failed(1)
	f.forget(1)
	require.Equal(t, 0, f.count(1), "a success ends the count, wherever it is kept")
}

// A long outage makes every object of the cluster fail. A few go on failing after it, and
// must not keep the memory that all of them needed. No step may take as long as there were
// items: everybody waits for it.
//
// Function: failureCounter.failed or failureCounter.forget
func TestFailuresFollowWhatIsThereAndNotThePeak(t *testing.T) {
	const items, stay = 10 * keepAtMost, 10
	for _, generationSize := range []int{0, items, items / 3 * 2} {
		before := heapSize()
		f := &failureCounter[int]{generationSize: generationSize}
		for item := range items {
			f.failed(item)
		}
		full := heapSize() - before
		require.Greater(t, full, int64(items*40), "or else there is nothing to give back")
		for item := stay; item < items; item++ {
			f.forget(items + stay - 1 - item)
		}
		for item := range stay {
			f.forget(item)
			f.failed(item)
		}
		require.Less(t, heapSize()-before, full/4, "generations of %d: ten items fail, and the memory is that of %d", generationSize, items)
		for item := range stay {
			require.Equal(t, 1, f.count(item), "what is still there is found")
		}
	}
}
