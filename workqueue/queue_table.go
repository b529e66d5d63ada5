package workqueue

import "hash/maphash"

// itemTable finds the record of an item. It is a hash table whose chains run through the
// records themselves: E is the type of a record, which embeds a tableKey. The queue keeps
// entries in one; later chapters keep other records about items.
//
// With a Go map, an item would be hashed three times on its way through the queue: when
// it is looked up, inserted and deleted. Names are long, and this would be most of
// what a queue does. Here the caller hashes the item once, before it takes the
// queue's lock, and the record keeps the hash. So the lock is held for less time; and an
// item that cannot be hashed, such as a slice in an interface, panics while nobody
// holds the lock.
//
// A Go map also keeps the room that it once grew to. This table follows what is in it:
// queue_table_resize.go grows and shrinks it in small steps, and queue_table_pool.go uses
// records again.
type itemTable[T comparable, E any, P recordPointer[T, E]] struct {
	// segments hold the buckets, which are chains of records. The number of buckets
	// need not be a power of two: the first ones have been split already by the
	// highest bit of mask, and the rest have not.
	segments []*[segment]*tableKey[T, E]
	buckets  int
	mask     uint64 // the bits of a hash that count
	n        int    // the number of records

	pool recordPool[T, E, P]
}

// tableKey is the part of a record that the table works with.
type tableKey[T comparable, E any] struct {
	item         T
	hash         uint64 // of the item
	record       *E     // of which this is a part
	nextInBucket *tableKey[T, E]
}

// recordPointer is a pointer to a type that embeds a tableKey.
type recordPointer[T comparable, E any] interface {
	*E
	asKey() *tableKey[T, E]
}

func (k *tableKey[T, E]) asKey() *tableKey[T, E] { return k }

// segment is how many buckets share one piece of memory.
const segment = 256

var seed = maphash.MakeSeed()

func hashOf[T comparable](item T) uint64 { return maphash.Comparable(seed, item) }

// find returns the item's record, or nil if there is none.
func (t *itemTable[T, E, P]) find(item T, hash uint64) *E {
	if t.n == 0 {
		return nil
	}
	for k := *t.bucket(hash); k != nil; k = k.nextInBucket {
		if k.hash == hash && k.item == item {
			return k.record
		}
	}
	return nil
}

// of returns the item's record. If there is none, it makes one.
func (t *itemTable[T, E, P]) of(item T, hash uint64) *E {
	if e := t.find(item, hash); e != nil {
		return e
	}
	k := t.pool.take(t.n)
	k.item, k.hash = item, hash
	t.n++
	t.grow()
	at := t.bucket(hash)
	k.nextInBucket, *at = *at, k
	return k.record
}

// remove deletes a record from the table. It may come back as another item's.
func (t *itemTable[T, E, P]) remove(e *E) {
	k := P(e).asKey()
	at := t.bucket(k.hash)
	for *at != k {
		at = &(*at).nextInBucket
	}
	*at = k.nextInBucket
	t.n--
	t.shrink()
	t.pool.put(k, t.n)
}

// bucket returns the bucket for a hash. If that bucket does not exist yet, its records
// are still in the one that it will be split from.
func (t *itemTable[T, E, P]) bucket(hash uint64) **tableKey[T, E] {
	i := hash & t.mask
	if i >= uint64(t.buckets) {
		i &= t.mask >> 1
	}
	return t.at(i)
}

func (t *itemTable[T, E, P]) at(i uint64) **tableKey[T, E] {
	return &t.segments[i/segment][i%segment]
}
