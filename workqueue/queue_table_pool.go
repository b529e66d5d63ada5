package workqueue

import "unsafe"

// recordPool makes the records of a table, and uses them again: in the long run, what
// comes and goes at a constant rate allocates nothing.
type recordPool[T comparable, E any, P recordPointer[T, E]] struct {
	spare  *tableKey[T, E] // a chain of records to use again
	spares int             // how many records it has
	// peaked is true from when there are more than keepAtMost records, until so few are
	// left that their blocks have room for no more than that. Any record that is left keeps
	// its whole block in memory. So in the meantime the pool keeps at most half as many
	// records as are in use, and the runtime gets the others back. To keep none would be
	// worse: where most items come and go and a few stay, each of those that stay could
	// end up in a block of its own.
	peaked bool
}

// blockSize is the number of bytes in which a pool makes records. After an outage, a million
// items may come within a second, and many allocations cost more than few. It is the
// runtime's size class of 8192, less the 8 bytes that the runtime needs itself.
const blockSize = 8<<10 - 8

// block is the number of records in a block.
func (p *recordPool[T, E, P]) block() int {
	var e E
	return max(1, blockSize/int(unsafe.Sizeof(e)))
}

// take returns a record that is in no table. There are n records in the table.
func (p *recordPool[T, E, P]) take(n int) *tableKey[T, E] {
	if p.spare == nil {
		p.peaked = p.peaked || n >= keepAtMost
		fresh := make([]E, max(1, min(n, p.block())))
		for i := range fresh {
			k := P(&fresh[i]).asKey()
			k.record, k.nextInBucket, p.spare = &fresh[i], p.spare, k
		}
		p.spares = len(fresh)
	}
	k := p.spare
	p.spare, k.nextInBucket = k.nextInBucket, nil
	p.spares--
	return k
}

// put keeps a record to use it again. There are n records left in the table; while it comes
// down from a peak, some of those that are kept go. The item is cleared here, so that its
// strings do not stay in memory; the owner of the table clears the rest.
func (p *recordPool[T, E, P]) put(k *tableKey[T, E], n int) {
	var zero T
	k.item, k.nextInBucket, p.spare = zero, p.spare, k
	p.spares++
	p.peaked = p.peaked && n+p.spares > keepAtMost/p.block()
	for p.peaked && p.spares > n/2 {
		gone := p.spare
		p.spare, gone.nextInBucket = gone.nextInBucket, nil
		p.spares--
	}
}
