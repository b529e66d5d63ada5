package workqueue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// thirdOfABlock is a record of which three fill a block to the last byte.
type thirdOfABlock struct {
	tableKey[int, thirdOfABlock]
	_ [blockSize/3 - 32]byte
}

type largeRecord struct {
	tableKey[int, largeRecord]
	_ [blockSize]byte
}

func TestABlockHasAsManyRecordsAsFit(t *testing.T) {
	require.Equal(t, 3, new(recordPool[int, thirdOfABlock, *thirdOfABlock]).block())
	require.Equal(t, 1, new(recordPool[int, largeRecord, *largeRecord]).block(), "a large record has a block to itself")
}

// Most controllers have a few queues that are nearly always empty.
func TestAQueueOfOneItemMakesOneRecord(t *testing.T) {
	var x entryTable[int]
	put(&x, 1)
	require.Zero(t, x.pool.spares)
}

// To keep more would keep the memory of an outage; to keep less would make new blocks for
// what comes and goes.
func TestThePoolKeepsHalfAsManyRecordsAsAreInUseAfterAPeak(t *testing.T) {
	var x entryTable[int]
	const items = 2 * keepAtMost
	for i := range items {
		put(&x, i)
	}
	require.True(t, x.pool.peaked)
	atMost, kept, i := keepAtMost/x.pool.block(), x.pool.spares, 0
	for ; x.pool.peaked; i++ {
		x.remove(x.find(i, hashOf(i)))
		if x.pool.peaked {
			kept = min(kept+1, x.n/2)
			require.Equal(t, kept, x.pool.spares, "with %d records in use", x.n)
		}
	}
	require.LessOrEqual(t, x.n+x.pool.spares, atMost, "the rest may all be kept: their blocks have room for no more than an empty queue may keep")
	require.Greater(t, x.n+x.pool.spares, atMost-2, "as soon as so few are left, all are kept")
	all := x.n + x.pool.spares
	for ; i < items; i++ {
		x.remove(x.find(i, hashOf(i)))
	}
	require.Equal(t, all, x.pool.spares)
	chain := 0
	for k := x.pool.spare; k != nil; k = k.nextInBucket {
		chain++
	}
	require.Equal(t, chain, x.pool.spares, "the pool counts what it keeps")
}

// A peak is what an empty queue may not keep in memory. It is over when the blocks of what is
// left, even if each has a single record in it, have room for no more.
func TestAPeakBeginsAndEndsWithKeepAtMost(t *testing.T) {
	type pool = recordPool[int, largeRecord, *largeRecord]
	for n, peaked := range []bool{false, true} { // one more than keepAtMost, with the one that is taken
		var p pool
		p.take(keepAtMost - 1 + n)
		require.Equal(t, peaked, p.peaked, "%d records, and %d are kept", keepAtMost+n, keepAtMost)
	}
	for n, peaked := range []bool{false, true} { // with the one that is put back
		p := pool{peaked: true}
		p.put(new(largeRecord).asKey(), keepAtMost-1+n)
		require.Equal(t, peaked, p.peaked, "%d records, and %d are kept", keepAtMost+n, keepAtMost)
	}
	p := pool{peaked: true}
	p.put(new(largeRecord).asKey(), 1)
	require.Equal(t, 1, p.spares, "the peak is over, and what comes back is kept")
}

// After an outage comes a smaller one, which needs new blocks. The memory of both is given back.
func TestAPeakGoesOnWhileItsBlocksAreInUse(t *testing.T) {
	var x entryTable[int]
	for i := range 2 * keepAtMost {
		put(&x, i)
	}
	i := 0
	shrinkTo := func(n int) {
		for ; x.n > n; i++ {
			x.remove(x.find(i, hashOf(i)))
		}
	}
	shrinkTo(keepAtMost / 2)
	for i := range x.pool.spares + 1 {
		put(&x, 2*keepAtMost+i)
	}
	require.Less(t, x.n, keepAtMost)
	shrinkTo(1000)
	require.LessOrEqual(t, x.pool.spares, 500, "half as many records as are in use are kept")
}
