package workqueue

import "hash/maphash"

// table finds the entry of an item. It is a hash table whose chains run through the
// entries themselves.
//
// In a Go map, an item would be hashed three times on its way through the queue: when
// it is looked for, put in, and taken out. Names are long, and this would be most of
// what a queue does. Here, whoever calls has hashed the item, before taking the
// queue's lock, and the entry keeps the hash. So the lock is held for less; and an
// item that cannot be hashed, such as a slice in an interface, panics while nobody
// holds it.
//
// It grows by one bucket with each entry, so that no add has to move a million of them.
//
// Source: W. Litwin, Linear hashing: a new tool for file and table addressing, 1980.
type table[T comparable] struct {
	// buckets are chains of entries. Their number need not be a power of two: the
	// first ones have been split already by the highest bit of mask, and the rest
	// have not.
	buckets []*entry[T]
	mask    uint64 // the bits of a hash that count
	n       int    // how many entries there are

	spare  *entry[T] // a chain of entries to use again
	spares int       // how long it is
}

var seed = maphash.MakeSeed()

func hashOf[T comparable](item T) uint64 { return maphash.Comparable(seed, item) }

// find is nil if there is no entry for the item.
func (t *table[T]) find(item T, hash uint64) *entry[T] {
	if t.n == 0 {
		return nil
	}
	e := t.buckets[t.bucket(hash)]
	for e != nil && (e.hash != hash || e.item != item) {
		e = e.chain
	}
	return e
}

// of is the item's entry. If there is none, it makes one, in a group.
func (t *table[T]) of(item T, hash uint64, group string) *entry[T] {
	e := t.find(item, hash)
	if e == nil {
		e = t.unused()
		e.item, e.hash, e.group = item, hash, group
		t.n++
		t.grow()
		at := &t.buckets[t.bucket(hash)]
		e.chain, *at = *at, e
	}
	return e
}

// bucket is where the entries with a hash are. If the bucket is still to come, they
// are in the one that it will be split from.
func (t *table[T]) bucket(hash uint64) uint64 {
	i := hash & t.mask
	if i >= uint64(len(t.buckets)) {
		i &= t.mask >> 1
	}
	return i
}

// grow makes one more bucket if there are more entries than buckets. What belongs
// there is in a single other one, whose number lacks the highest bit.
func (t *table[T]) grow() {
	if t.n <= len(t.buckets) {
		return
	}
	if t.buckets == nil {
		t.buckets = make([]*entry[T], 1)
		return
	}
	fresh := uint64(len(t.buckets))
	t.buckets = append(t.buckets, nil)
	if fresh > t.mask {
		t.mask = t.mask<<1 | 1
	}
	from, to := &t.buckets[fresh&(t.mask>>1)], &t.buckets[fresh]
	for *from != nil {
		if e := *from; e.hash&t.mask == fresh {
			*from, e.chain, *to = e.chain, *to, e
		} else {
			from = &e.chain
		}
	}
}

// keepAtMost is for how many items an empty queue holds memory ready.
const keepAtMost = 1 << 15

// remove drops an entry. After a crowd, most of the entries go back to the runtime as
// they are dropped, and the rest when the table is empty. A Go map would keep its room.
func (t *table[T]) remove(e *entry[T]) {
	at := &t.buckets[t.bucket(e.hash)]
	for *at != e {
		at = &(*at).chain
	}
	*at = e.chain
	t.n--
	if t.n == 0 && len(t.buckets) > keepAtMost {
		*t = table[T]{}
		return
	}
	var zero T
	e.item, e.group, e.causes = zero, "", Causes{} // let go of their strings
	if t.spares < keepAtMost {
		e.chain, t.spare = t.spare, e
		t.spares++
	}
}

// unused is an entry that is not in the table. New ones are made in blocks: after an
// outage, a million items may come within a second.
func (t *table[T]) unused() *entry[T] {
	if t.spare == nil {
		block := make([]entry[T], max(1, min(t.n, 128)))
		for i := range block {
			block[i].chain, t.spare = t.spare, &block[i]
		}
		t.spares = len(block)
	}
	e := t.spare
	t.spare, e.chain = e.chain, nil
	t.spares--
	return e
}
