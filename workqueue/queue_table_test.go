package workqueue

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/internal/inorder"
)

// badHash sends several items to one bucket.
func badHash(item byte) uint64 { return uint64(item) * 5 / 3 }

// newEntry makes an entry that is in no table.
func newEntry[T comparable](item T, group string, priority int) *entry[T] {
	return &entry[T]{tableKey: tableKey[T, entry[T]]{item: item}, group: group, priority: priority}
}

// put is of with the real hash.
func put[T comparable](x *entryTable[T], item T) *entry[T] { return x.of(item, hashOf(item)) }

// playTable does what the script says with a table and with a map, and compares. Each byte
// is a step.
func playTable(t *testing.T, script []byte, seen exercised) {
	var x entryTable[byte]
	model, used := map[byte]*entry[byte]{}, map[*entry[byte]]bool{}
	for _, step := range script {
		item := step % 64
		if e := model[item]; step >= 160 && e != nil {
			first := *x.bucket(e.hash)
			seen.count("the first record of several in a bucket is removed", first == &e.tableKey && first.nextInBucket != nil)
			seen.count("a record behind others in a bucket is removed", first != &e.tableKey)
			x.remove(e)
			delete(model, item)
		} else {
			buckets, moved := x.buckets, x.buckets > 0 && e == nil
			e := x.of(item, badHash(item))
			require.Equal(t, item, e.item)
			if model[item] != nil {
				require.Same(t, model[item], e, "an item has two entries: two workers could hold it")
			}
			seen.count("an item is looked for that is there", model[item] != nil)
			seen.count("a record is used again", model[item] == nil && used[e])
			seen.count("a bucket is split", moved && x.buckets > buckets)
			model[item], used[e] = e, true
		}
		seen.most("items at once", len(model))
		require.Equal(t, len(model), x.n)
		for item := range byte(64) {
			require.True(t, model[item] == x.find(item, badHash(item)), "item %d", item)
		}
		for k := x.pool.spare; k != nil; k = k.nextInBucket {
			require.Zero(t, k.item, "a record that waits for its next use keeps its old item in memory")
			require.True(t, model[k.record.item] != k.record, "a record waits for its next use, and is in use")
		}
	}
}

func TestTableDoesWhatAMapDoes(t *testing.T) {
	seen := exercised{}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 5))
		script := make([]byte, random.IntN(150))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		playTable(t, script, seen)
	}
	seen.require(t, exercised{
		"items at once":                                      40,
		"an item is looked for that is there":                500,
		"a bucket is split":                                  500,
		"a record is used again":                             200,
		"the first record of several in a bucket is removed": 100,
		"a record behind others in a bucket is removed":      100,
	})
}

func FuzzTable(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 225, 227, 229, 0, 1})
	f.Add([]byte{7, 199, 7, 199, 8, 9, 10, 202})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) < 300 {
			playTable(t, script, exercised{})
		}
	})
}

// A chain that is not split when the table grows makes each look at an item as long
// as there are items.
func TestTableChainsStayShort(t *testing.T) {
	var x entryTable[int]
	for i := range 100_000 {
		put(&x, i)
	}
	longest := 0
	for i := range x.buckets {
		length := 0
		for e := *x.at(uint64(i)); e != nil; e = e.nextInBucket {
			length++
		}
		longest = max(longest, length)
	}
	require.Less(t, longest, 20)
	require.LessOrEqual(t, x.buckets, 100_000)
}

// A table that shrinks must not lose an item, or two workers could hold it.
func TestTableFindsAllItemsWhileItShrinks(t *testing.T) {
	for _, items := range []int{2*keepAtMost + 1, 3 * keepAtMost} { // the first has one bucket that is numbered with one bit more
		var x entryTable[int]
		for i := range items {
			put(&x, i)
		}
		for i := range items - 100 {
			x.remove(x.find(i, hashOf(i)))
			buckets := max(keepAtMost, min(items, 2*x.n))
			equal(t, buckets, x.buckets, "with %d items left, there are two buckets for each, or as many as keepAtMost items need", x.n)
			equal(t, (buckets+segment-1)/segment, len(x.segments), "with %d items left, there are the segments that the buckets need", x.n)
			if i%4000 == 0 || i == items-101 {
				for left := range x.n {
					left += i + 1
					require.True(t, x.find(left, hashOf(left)) != nil, "item %d of %d", left, items)
				}
			}
		}
		for _, gone := range x.segments[len(x.segments):cap(x.segments)] {
			require.Nil(t, gone, "the list of segments keeps one in memory that it gave up")
		}
		for i := range items {
			put(&x, i)
		}
		require.Equal(t, items, x.n, "what was still there has no second entry")
	}
}

func TestTableGrowsWithItsItemsAndNotWithItsAdds(t *testing.T) {
	var x entryTable[int]
	for n := range 10 {
		put(&x, n)
		for range 3 {
			x.remove(put(&x, -1))
		}
		require.Equal(t, n+2, x.buckets, "there is a bucket for each item that was there at the same time")
	}
}

// A single item that stays forever must not keep the memory of the million that
// were there during an outage.
func TestTableGivesMemoryBack(t *testing.T) {
	const items = 10 * keepAtMost
	for name, order := range inorder.Map(map[string]func(n int) []int{"in order": inOrder, "in no order": rand.Perm}) {
		t.Run(name, func(t *testing.T) {
			before := heapSize()
			x := new(entryTable[int])
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
			require.Less(t, left, 2*keepAtMost*int64(unsafe.Sizeof(entry[int]{})+8), "no more than what an empty queue may keep")
			require.NotNil(t, x.find(-1, hashOf(-1)))
		})
	}
}

// While there are many items, most of them may come and go at once, and a few stay. If one
// that stays had a block to itself, a queue of a hundred thousand would take half a gigabyte.
func TestTableWithManyItemsTakesNoMoreForWhatComesAndGoes(t *testing.T) {
	const items, staying = 2 * keepAtMost, 10_000
	x := new(entryTable[int])
	for i := range items {
		put(x, i)
	}
	before := heapSize()
	for i := range staying {
		put(x, items+i)
		for j := range 100 {
			x.remove(put(x, -1-j))
		}
	}
	require.Less(t, heapSize()-before, 2*staying*int64(unsafe.Sizeof(entry[int]{})+8))
	require.Equal(t, items+staying, x.n)
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
	var x entryTable[int]
	cycle := func() {
		for i := range 10_000 {
			put(&x, i)
		}
		for i := range 10_000 {
			x.remove(x.find(i, hashOf(i)))
		}
	}
	put(&x, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() { put(&x, 1) }), "nor does a look at what is there")
	require.Zero(t, testing.AllocsPerRun(3, cycle))
	for i := range 2 * keepAtMost {
		put(&x, -1-i)
	}
	require.Zero(t, testing.AllocsPerRun(3, cycle), "nor among many that stay")
}

// With a hundred thousand items this never happens, and once in a while it does.
func TestTableTellsItemsWithOneHashApart(t *testing.T) {
	var x entryTable[string]
	a := x.of("a", 7)
	b := x.of("b", 7)
	require.NotSame(t, a, b, "the second item is never worked on: it is taken for the first")
	require.Same(t, a, x.find("a", 7))
	x.remove(a)
	require.Nil(t, x.find("a", 7))
	require.Same(t, b, x.find("b", 7))
}

func TestTableTakesInfinityAndNotANumber(t *testing.T) {
	var x entryTable[float64]
	require.Same(t, put(&x, math.Inf(1)), put(&x, math.Inf(1)))
	require.Same(t, put(&x, 0.0), put(&x, math.Copysign(0, -1)), "equal items have one entry")
	a, b := put(&x, math.NaN()), put(&x, math.NaN())
	require.NotSame(t, a, b, "what is not equal to itself is not the same item")
	x.remove(a)
	x.remove(b)
	require.Equal(t, 2, x.n, "but it can be forgotten, which a Go map cannot")
}
