package workqueue

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

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
	for i := range x.buckets {
		length := 0
		for e := *x.at(uint64(i)); e != nil; e = e.chain {
			length++
		}
		longest = max(longest, length)
	}
	require.Less(t, longest, 20)
	require.LessOrEqual(t, x.buckets, 100_000)
}

// A table that shrinks must not lose an item, or two workers could hold it.
func TestTableFindsAllItemsWhileItShrinks(t *testing.T) {
	const items = 3 * keepAtMost
	var x table[int]
	for i := range items {
		put(&x, i)
	}
	for i := range items - 100 {
		x.remove(x.find(i, hashOf(i)))
		if i%1000 == 0 || i == items-101 {
			for left := range x.n {
				left += i + 1
				require.NotNil(t, x.find(left, hashOf(left)), "item %d of %d", left, items)
			}
		}
	}
	require.Equal(t, keepAtMost, x.buckets)
	require.Len(t, x.segments, keepAtMost/segment)
	for i := range items {
		put(&x, i)
	}
	require.Equal(t, items, x.n, "what was still there has no second entry")
}

// A single item that stays for ever must not keep the memory of the million that
// were there during an outage.
func TestTableGivesMemoryBack(t *testing.T) {
	const items = 10 * keepAtMost
	for name, order := range map[string]func(n int) []int{"in order": inOrder, "in no order": rand.Perm} {
		t.Run(name, func(t *testing.T) {
			before := heapSize()
			x := new(table[int])
			put(x, -1)
			for i := range items {
				put(x, i)
			}
			full := heapSize() - before
			for _, i := range order(items) {
				x.remove(x.find(i, hashOf(i)))
			}
			left := heapSize() - before
			require.Less(t, left, full/4)
			require.Less(t, left, 2*keepAtMost*int64(unsafe.Sizeof(entry[int]{})+8), "no more than for a crowd that is no crowd")
			require.NotNil(t, x.find(-1, hashOf(-1)))
		})
	}
}

func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// heapSize is how much memory is in use.
func heapSize() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What comes and goes in the same number all the time costs nothing.
func TestTableAllocatesNothingInTheLongRun(t *testing.T) {
	var x table[int]
	cycle := func() {
		for i := range 10_000 {
			put(&x, i)
		}
		for i := range 10_000 {
			x.remove(x.find(i, hashOf(i)))
		}
	}
	require.Zero(t, testing.AllocsPerRun(3, cycle))
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
