package workqueue

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// badHash sends several items to one bucket.
func badHash(item byte) uint64 { return uint64(item) * 5 / 3 }

// put is of with the real hash.
func put[T comparable](x *table[T], item T) *entry[T] { return x.of(item, hashOf(item), "") }

// playTable does what the script says with a table and with a map, and compares.
func playTable(t *testing.T, script []byte) {
	var x table[byte]
	model := map[byte]*entry[byte]{}
	for _, step := range script {
		item := step % 64
		switch {
		case step >= 160 && model[item] != nil:
			x.remove(model[item])
			delete(model, item)
		default:
			e := x.of(item, badHash(item), "")
			require.Equal(t, item, e.item)
			if model[item] != nil {
				require.Same(t, model[item], e, "an item has two entries: two workers could hold it")
			}
			model[item] = e
		}
		require.Equal(t, len(model), x.n)
		for item := range byte(64) {
			require.True(t, model[item] == x.find(item, badHash(item)), "item %d", item)
		}
	}
}

func TestTableDoesWhatAMapDoes(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 5))
		script := make([]byte, random.IntN(150))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playTable(t, script)
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 225, 227, 229, 0, 1})
	f.Add([]byte{7, 199, 7, 199, 8, 9, 10, 202})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 300 {
			playTable(t, script)
		}
	})
}

// A chain that is not split when the table grows makes each look at an item as long
// as there are items.
func TestTableChainsStayShort(t *testing.T) {
	var x table[int]
	for i := range 100_000 {
		put(&x, i)
	}
	longest := 0
	for _, e := range x.buckets {
		length := 0
		for ; e != nil; e = e.chain {
			length++
		}
		longest = max(longest, length)
	}
	require.Less(t, longest, 20)
	require.LessOrEqual(t, len(x.buckets), 100_000)
}

// A queue that held a million items during an outage gives the memory back.
func TestTableGivesMemoryBack(t *testing.T) {
	var x table[int]
	for i := range 3 * keepAtMost {
		put(&x, i)
	}
	for i := range 3*keepAtMost - 1 {
		x.remove(x.find(i, hashOf(i)))
	}
	require.LessOrEqual(t, x.spares, keepAtMost, "a single item that stays for ever must not keep the crowd's memory")
	x.remove(x.find(3*keepAtMost-1, hashOf(3*keepAtMost-1)))
	require.Equal(t, table[int]{}, x, "when the last item is gone, all of it is given back")
	require.Equal(t, 1, put(&x, 1).item)
}

func TestTableTakesInfinityAndNotANumber(t *testing.T) {
	var x table[float64]
	require.Same(t, put(&x, math.Inf(1)), put(&x, math.Inf(1)))
	require.Same(t, put(&x, 0.0), put(&x, math.Copysign(0, -1)), "equal items have one entry")
	a, b := put(&x, math.NaN()), put(&x, math.NaN())
	require.NotSame(t, a, b, "what is not equal to itself is not the same item")
	x.remove(a)
	x.remove(b)
	require.Equal(t, 2, x.n, "but it can be forgotten, which a Go map cannot")
}
