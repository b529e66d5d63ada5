package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

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
			_, young := real.young.get(item)
			_, old := real.old.get(item)
			full := half > 0 && real.young.len() >= half
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
			require.LessOrEqual(t, real.young.len(), half, "a generation has room for half of what is remembered")
			require.LessOrEqual(t, real.old.len(), half, "a generation has room for half of what is remembered")
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
	require.Zero(t, real.young.len()+real.old.len(), "all items are forgotten, and some take room")
}

// Function: failureCounter.failed or failureCounter.forget
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
