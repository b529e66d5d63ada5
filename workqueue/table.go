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
// It grows by one bucket with each entry, and lies in segments, so that no add has to
// move a million entries, nor a million pointers to them. It shrinks in the same way.
//
// Source: W. Litwin, Linear hashing: a new tool for file and table addressing, 1980.
type table[T comparable] struct {
	// segments hold the buckets, which are chains of entries. The number of buckets
	// need not be a power of two: the first ones have been split already by the
	// highest bit of mask, and the rest have not.
	segments []*[segment]*entry[T]
	buckets  int
	mask     uint64 // the bits of a hash that count
	n        int    // how many entries there are

	spare *entry[T] // a chain of entries to use again
	// crowd is true from when there are more than keepAtMost entries, until so few are
	// left that their blocks have room for no more than that. Meanwhile, what is removed
	// goes back to the runtime.
	crowd bool
}

// segment is how many buckets there are in one piece of memory.
const segment = 256

var seed = maphash.MakeSeed()

func hashOf[T comparable](item T) uint64 { return maphash.Comparable(seed, item) }

// find is nil if there is no entry for the item.
func (t *table[T]) find(item T, hash uint64) *entry[T] {
	if t.n == 0 {
		return nil
	}
	e := *t.bucket(hash)
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
		at := t.bucket(hash)
		e.chain, *at = *at, e
	}
	return e
}

// bucket is where the entries with a hash are. If the bucket is still to come, they
// are in the one that it will be split from.
func (t *table[T]) bucket(hash uint64) **entry[T] {
	i := hash & t.mask
	if i >= uint64(t.buckets) {
		i &= t.mask >> 1
	}
	return t.at(i)
}

func (t *table[T]) at(i uint64) **entry[T] { return &t.segments[i/segment][i%segment] }

// grow makes one more bucket if there are more entries than buckets. What belongs
// there is in a single other one, whose number lacks the highest bit.
func (t *table[T]) grow() {
	if t.n <= t.buckets {
		return
	}
	fresh := uint64(t.buckets)
	if fresh%segment == 0 {
		t.segments = append(t.segments, new([segment]*entry[T]))
	}
	t.buckets++
	if fresh == 0 {
		return
	}
	if fresh > t.mask {
		t.mask = t.mask<<1 | 1
	}
	from, to := t.at(fresh&(t.mask>>1)), t.at(fresh)
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

// shrink takes the last buckets back after a crowd, and puts their entries where they
// came from.
func (t *table[T]) shrink() {
	for t.buckets > keepAtMost && t.buckets > 2*t.n {
		t.buckets--
		last := uint64(t.buckets)
		end := t.at(last & (t.mask >> 1))
		for *end != nil {
			end = &(*end).chain
		}
		from := t.at(last)
		*end, *from = *from, nil
		if last == t.mask>>1+1 {
			t.mask >>= 1
		}
		if last%segment == 0 {
			t.segments[last/segment] = nil
			t.segments = t.segments[:last/segment]
		}
	}
}

// remove drops an entry. It is used again, unless the table is coming down from a crowd.
func (t *table[T]) remove(e *entry[T]) {
	at := t.bucket(e.hash)
	for *at != e {
		at = &(*at).chain
	}
	*at = e.chain
	t.n--
	t.shrink()
	var zero T
	e.item, e.group, e.causes = zero, "", Causes{} // let go of their strings
	e.chain = nil                                  // and of its neighbour
	if t.crowd = t.crowd && t.n > keepAtMost/block; !t.crowd {
		e.chain, t.spare = t.spare, e
	}
}

// block is how many entries are made at once: after an outage, a million items may come
// within a second. Any of its entries keeps the whole block in memory; hence crowd.
const block = 32

// unused is an entry that is not in the table.
func (t *table[T]) unused() *entry[T] {
	if t.spare == nil {
		t.crowd = t.crowd || t.n >= keepAtMost
		fresh := make([]entry[T], max(1, min(t.n, block)))
		for i := range fresh {
			fresh[i].chain, t.spare = t.spare, &fresh[i]
		}
	}
	e := t.spare
	t.spare, e.chain = e.chain, nil
	return e
}
