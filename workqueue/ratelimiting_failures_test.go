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

// An item that fails for days reaches a hundred failures. With an overflow, it would be tried again and again without a pause. And
// a user may have computed the base, and computed wrongly.
func TestBackoffIsTwiceTheOneBeforeUpToItsLimit(t *testing.T) {
	for _, base := range []time.Duration{math.MinInt64, -3, 0, 1, 3, 5 * time.Millisecond, time.Hour, math.MaxInt64} {
		for _, limit := range []time.Duration{1, 1000, 1000 * time.Second, math.MaxInt64} {
			for failures := range 200 {
				want := new(big.Int).Lsh(big.NewInt(int64(max(base, 0))), uint(failures))
				if want.Cmp(big.NewInt(int64(limit))) > 0 {
					want.SetInt64(int64(limit))
				}
				require.Equal(t, want.Int64(), int64(backoff(base, limit, failures)), "base %d, limit %d, %d failures", base, limit, failures)
			}
		}
	}
	for _, failures := range []int{1000, 70_000, math.MaxInt} {
		require.Equal(t, time.Duration(1000), backoff(3, 1000, failures), "%d failures", failures)
		require.Zero(t, backoff(0, 1000, failures), "%d failures", failures)
	}
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

// With room for two in a generation, "a" is in the old one when it fails again. The model would let it be forgotten.
func TestFailuresInTheOldGenerationGoOn(t *testing.T) {
	f := failureCounter[string]{generationSize: 2}
	for _, item := range []string{"a", "b", "c", "d"} {
		require.Equal(t, 0, f.failed(item), "%s fails for the first time", item)
	}
	require.Equal(t, 1, f.failed("a"), "the item was in the old generation, which is dropped at this failure: its count must be read before")
	require.Equal(t, 2, f.count("a"), "the item failed twice: the count of the old generation goes on in the young one")
}

// One item that fails again and again must not push the others out, and the model would let it.
func TestFailuresOfAYoungItemDropNothing(t *testing.T) {
	f := failureCounter[string]{generationSize: 2}
	for _, item := range []string{"x", "y", "a", "b", "a"} {
		f.failed(item)
	}
	require.Equal(t, 1, f.count("x"), "the item that failed again was young already and takes no more room: nobody may be forgotten for it")
	require.Equal(t, 2, f.count("a"), "the item failed twice")
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

// lately reports whether an item is one of the last that failed, which are certainly remembered.
func (m *failuresModel) lately(place, half int) bool { return half == 0 || place >= len(m.order)-half }

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
			lately := m.lately(slices.Index(m.order, item), half)
			before := real.failed(item)
			require.True(t, before == m.counts[item] || before == 0 && !lately, "item %d failed %d times before, and failed returns %d: what failed lately is exact, and what is forgotten begins at 0", item, m.counts[item], before)
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
			require.True(t, got == want || got == 0 && !m.lately(i, half), "item %d failed %d times, and count returns %d: the last %d items that failed are exact", item, want, got, half)
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
