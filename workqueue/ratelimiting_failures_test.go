package workqueue

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBackoffDoublesWithEachFailure(t *testing.T) {
	var ladder []time.Duration
	for failures := range 5 {
		ladder = append(ladder, backoff(5, 1000, failures))
	}
	require.Equal(t, []time.Duration{5, 10, 20, 40, 80}, ladder, "the first delay is the base, and each is twice the one before")
}

func TestBackoffEndsAtItsLimit(t *testing.T) {
	require.Equal(t, time.Duration(1000), backoff(5, 1000, 8), "5 << 8 is 1280, more than the limit of 1000: an item must not wait longer")
	require.Equal(t, time.Duration(1000), backoff(2000, 1000, 0), "a base above the limit is the limit")
}

// An item that fails for days reaches a hundred failures. With an overflow it
// would be tried again and again without a pause.
func TestBackoffDoesNotOverflow(t *testing.T) {
	for _, failures := range []int{40, 61, 62, 63, 64, 65, 1000, math.MaxInt} {
		require.Equal(t, 1000*time.Second, backoff(5*time.Millisecond, 1000*time.Second, failures), "after %d failures", failures)
		require.Equal(t, time.Duration(math.MaxInt64), backoff(3, math.MaxInt64, max(failures, 62)), "after %d failures, without a limit to speak of", failures)
	}
}

// A user may have computed the base, and computed wrongly.
func TestBackoffWithoutABaseIsNone(t *testing.T) {
	for _, failures := range []int{0, 1, 61, 62, 63, 1000} {
		require.Zero(t, backoff(0, 1000, failures), "a base of zero stays zero, however often it is doubled: %d failures", failures)
		require.Zero(t, backoff(-3, 1000, failures), "a base below zero is no delay: %d failures", failures)
	}
}

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
	require.Equal(t, 1, len(f.young), "one item is remembered: one that is forgotten must take no room, or all objects that ever failed pile up")
}

// An item that fails for weeks waits the longest delay each time. With a count that starts
// over it would be tried every few milliseconds again.
func TestFailuresAreCountedForWeeks(t *testing.T) {
	for _, generationSize := range []int{0, 3} {
		f := failureCounter[string]{generationSize: generationSize}
		for before := range 70_000 {
			require.True(t, before == f.failed("a"), "the item failed %d times before, and failed returns something else: does the count fit into its type?", before)
		}
		require.Equal(t, 70_000, f.count("a"), "the item failed 70,000 times")
	}
}

func TestFailuresAreAllRememberedIfThereIsNoLimit(t *testing.T) {
	var f failureCounter[int]
	for item := range 1000 {
		f.failed(item)
	}
	for item := range 1000 {
		require.Equal(t, 1, f.count(item), "a generationSize of 0 is no limit, and item %d of 1000 is forgotten", item)
	}
}

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
	require.LessOrEqual(t, len(f.young), 3, "a generation has room for three: the fourth begins a new one")
	require.LessOrEqual(t, len(f.young)+len(f.old), 6, "memory must be bounded: objects that are gone are never forgotten by their controller")
	require.Equal(t, []int{1, 1, 1}, []int{f.count(97), f.count(98), f.count(99)}, "the last three that failed are remembered, whatever else is dropped")
}

// An item that fails again and again, while others come and go, must climb on.
func TestFailuresOfAnItemThatKeepsFailingAreNotDropped(t *testing.T) {
	f := failureCounter[int]{generationSize: 3}
	for round := range 50 {
		require.Equal(t, round, f.failed(-1), "the item failed %d times, and climbs the ladder no further", round)
		f.failed(2 * round)
		f.failed(2*round + 1)
	}
}

// With room for two in a generation, "a" is in the old one when it fails again.
func TestFailuresInTheOldGenerationGoOn(t *testing.T) {
	f := failureCounter[string]{generationSize: 2}
	for _, item := range []string{"a", "b", "c", "d"} {
		require.Equal(t, 0, f.failed(item), "%s fails for the first time", item)
	}
	require.Equal(t, 1, f.failed("a"), "the item was in the old generation, which is dropped at this failure: its count must be read before")
	require.Equal(t, 2, f.count("a"), "the item failed twice: the count of the old generation goes on in the young one")
}

// One item that fails again and again must not push the others out.
func TestFailuresOfAYoungItemDropNothing(t *testing.T) {
	f := failureCounter[string]{generationSize: 2}
	for _, item := range []string{"x", "y", "a", "b", "a"} {
		f.failed(item)
	}
	require.Equal(t, 1, f.count("x"), "the item that failed again was young already and takes no more room: nobody may be forgotten for it")
	require.Equal(t, 2, f.count("a"), "the item failed twice")
}

func TestFailuresThatAreForgottenDoNotComeBack(t *testing.T) {
	f := failureCounter[int]{generationSize: 2}
	f.failed(1)
	f.failed(2)
	f.failed(3) // 1 and 2 are the old generation now
	f.failed(1)
	f.forget(1)
	require.Equal(t, 0, f.count(1), "a success ends the count, wherever it is kept")
}

// failuresModel has a plain count for each item, and the items in the order of their last
// failures, whether they succeeded since or not.
type failuresModel struct {
	counts map[byte]int
	order  []byte
}

func (m *failuresModel) failed(item byte, before int) {
	m.counts[item] = before + 1
	m.order = append(slices.DeleteFunc(m.order, func(other byte) bool { return other == item }), item)
}

// playFailures does what the script says with a failureCounter and with the model. What
// failed lately must be exact, and the rest exact or forgotten. Each byte is a step.
func playFailures(t *testing.T, script []byte, half int, seen exercised) {
	real := failureCounter[byte]{generationSize: half}
	m := failuresModel{counts: map[byte]int{}}
	for _, step := range script {
		item := step >> 3 % 16
		if step%8 == 1 {
			seen.count("an item is forgotten that failed", m.counts[item] > 0)
			seen.count("an item is forgotten that never failed", m.counts[item] == 0)
			real.forget(item)
			delete(m.counts, item)
		} else {
			_, young := real.young[item]
			_, old := real.old[item]
			full := half > 0 && len(real.young) >= half
			seen.count("an item fails that is in the young generation, which is full", young && full)
			seen.count("an item fails that is in the old generation only", !young && old)
			seen.count("an item fails that is in the old generation only, and the young one is full", !young && old && full)
			seen.count("an item fails whose failures were dropped", !young && !old && m.counts[item] > 0)
			before := real.failed(item)
			require.True(t, before == m.counts[item] || before == 0, "item %d failed %d times before, and failed returns %d: what is remembered is exact, and what is not begins at 0", item, m.counts[item], before)
			m.failed(item, before)
			seen.most("failures of one item", m.counts[item])
		}
		if half > 0 {
			require.LessOrEqual(t, len(real.young), half, "a generation has room for half of what is remembered")
			require.LessOrEqual(t, len(real.old), half, "a generation has room for half of what is remembered")
		}
		remembered := 0
		for i, item := range m.order {
			got, want := real.count(item), m.counts[item]
			lately := half == 0 || i >= len(m.order)-half
			require.True(t, got == want || got == 0 && !lately, "item %d failed %d times, and count returns %d: the last %d items that failed are exact", item, want, got, half)
			if got > 0 {
				remembered++
			}
		}
		seen.most("items that are remembered at once", remembered)
	}
	for _, item := range m.order {
		real.forget(item)
	}
	require.Zero(t, len(real.young)+len(real.old), "all items are forgotten, and some take room")
}

func TestFailuresDoWhatTheModelDoes(t *testing.T) {
	seen := exercised{}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 8))
		script := make([]byte, random.IntN(200))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playFailures(t, script, int(seed%6), seen)
	}
	seen.require(t, exercised{
		"items that are remembered at once":                                           16,
		"failures of one item":                                                        10,
		"an item fails that is in the young generation, which is full":                500,
		"an item fails that is in the old generation only":                            1000,
		"an item fails that is in the old generation only, and the young one is full": 500,
		"an item fails whose failures were dropped":                                   1000,
		"an item is forgotten that failed":                                            1000,
		"an item is forgotten that never failed":                                      300,
	})
}

func FuzzFailures(f *testing.F) {
	f.Add([]byte{0, 8, 16, 0, 24, 1}, uint8(3))
	f.Add([]byte{0, 8, 1, 16, 24, 32, 0, 9, 0}, uint8(3))
	f.Add([]byte{0, 8, 1, 16, 24, 32, 0, 9, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, script []byte, half uint8) {
		if len(script) < 500 {
			playFailures(t, script, int(half), exercised{})
		}
	})
}
