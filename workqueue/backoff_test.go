package workqueue

import (
	"math"
	"math/big"
	"slices"
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

// Function: failures.failed or failures.forget
func TestFailuresAreCountedForEachItemUntilItIsForgotten(t *testing.T) {
	var f failures[string]
	require.Equal(t, 0, f.failed("a"), "before the first failure there was none")
	require.Equal(t, 1, f.failed("a"), "each failure counts, or an item that keeps failing never waits longer")
	require.Equal(t, 0, f.failed("b"), "other items have their own count")
	require.Equal(t, 2, f.count("a"), "the item failed twice")
	f.forget("a")
	f.forget("a")
	require.Equal(t, 0, f.count("a"), "a success ends the count: the next failure is the first")
	require.Equal(t, 1, f.count("b"), "to forget one is not to forget the others")
}

// Function: failures.failed
func TestFailuresAreRememberedUpToALimit(t *testing.T) {
	f := failures[int]{half: 3}
	for item := range 100 {
		f.failed(item)
	}
	require.LessOrEqual(t, len(f.young)+len(f.old), 6, "memory must be bounded: objects that are gone are never forgotten by their controller")
	for item := 97; item < 100; item++ {
		require.Equal(t, 1, f.count(item), "the last three that failed are remembered, whatever else is dropped")
	}
}

// An item that fails again and again, while others come and go, must climb on.
//
// Function: failures.failed
func TestFailuresOfAnItemThatKeepsFailingAreNotDropped(t *testing.T) {
	f := failures[int]{half: 3}
	for round := range 50 {
		require.Equal(t, round, f.failed(-1), "the item failed %d times, and climbs the ladder no further", round)
		f.failed(2 * round)
		f.failed(2*round + 1)
	}
}

// With room for two in a generation, "a" is in the old one when it fails again.
//
// Function: failures.failed
func TestFailuresInTheOldGenerationGoOn(t *testing.T) {
	f := failures[string]{half: 2}
	for _, item := range []string{"a", "b", "c", "d"} {
		require.Equal(t, 0, f.failed(item), "%s fails for the first time", item)
	}
	require.Equal(t, 1, f.failed("a"), "the item was in the old generation, which is dropped at this failure: its count must be read before")
	require.Equal(t, 2, f.count("a"), "the item failed twice: the count of the old generation goes on in the young one")
}

// One item that fails again and again must not push the others out.
//
// Function: failures.failed
func TestFailuresOfAYoungItemDropNothing(t *testing.T) {
	f := failures[string]{half: 2}
	for _, item := range []string{"x", "y", "a", "b", "a"} {
		f.failed(item)
	}
	require.Equal(t, 1, f.count("x"), "the item that failed again was young already and takes no more room: nobody may be forgotten for it")
	require.Equal(t, 2, f.count("a"), "the item failed twice")
}

// Function: failures.forget
func TestFailuresThatAreForgottenDoNotComeBack(t *testing.T) {
	f := failures[int]{half: 2}
	f.failed(1)
	f.failed(2)
	f.failed(3) // 1 and 2 are the old generation now
	f.failed(1)
	f.forget(1)
	require.Equal(t, 0, f.count(1), "a success ends the count, wherever it is kept")
}

// A long outage makes every object of the cluster fail.
//
// Function: failures.failed or failures.forget
func TestFailuresGiveMemoryBackWhenThereAreNone(t *testing.T) {
	var f failures[int]
	for item := range keepAtMost + 1 {
		f.failed(item)
	}
	for item := range keepAtMost + 1 {
		f.forget(item)
	}
	require.True(t, f.young == nil && f.old == nil, "more than keepAtMost items have failed, and all are forgotten: the maps keep their room until forget lets go of them, and it goes by peak")
}

// FuzzFailures compares with plain counts, and with a slice of the items in the
// order of their last failures, whether they succeeded since or not: what failed
// lately must be exact, and the rest exact or forgotten.
func FuzzFailures(f *testing.F) {
	f.Add([]byte{0, 8, 16, 0, 24, 1})
	f.Add([]byte{0, 8, 1, 16, 24, 32, 0, 9, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 500 {
			return
		}
		const half = 3
		real := failures[byte]{half: half}
		counts, order := map[byte]int{}, []byte(nil)
		for _, step := range script {
			item := step >> 3
			if step%8 == 1 {
				real.forget(item)
				delete(counts, item)
			} else {
				before := real.failed(item)
				require.Contains(t, []int{0, counts[item]}, before, "what is remembered is exact; what is not begins at 0")
				counts[item] = before + 1
				order = append(slices.DeleteFunc(order, func(other byte) bool { return other == item }), item)
			}
			require.LessOrEqual(t, len(real.young)+len(real.old), 2*half, "two generations have room for twice the half")
			for i, item := range order {
				if i >= len(order)-half {
					require.Equal(t, counts[item], real.count(item))
				} else {
					require.Contains(t, []int{0, counts[item]}, real.count(item))
				}
			}
		}
	})
}
