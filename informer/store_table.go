package informer

import (
	"fmt"
	"slices"
)

// objectTable is the store without its locks: objects in numbered slots, a map from
// key to slot, and an index for each index function. It is a plain data
// structure; one goroutine changes it at a time.
//
// There are no gaps between the slots: when an object is deleted, the last one moves
// into its slot. So a table is as large as what is in it, whatever was in it before,
// and a walk visits nothing but objects. Each deletion moves one object; there is no
// moment at which everything is tidied up.
//
// Readers that hold no lock are safe because of copy on write, a chunk at a time. A
// reader takes the slice of chunks, and a writer that finds a chunk older than the
// epoch copies it, puts the copy in its place, and changes the copy. So a reader's
// chunks never change, and nothing is copied that is not written.
type objectTable[T Object] struct {
	slots   shrinkingMap[Key, slot]
	chunks  []*chunk[T]
	born    uint64 // the epoch in which chunks, the slice, was copied last
	indices []*postings
}

// chunkSize is the number of slots in a chunk.
const chunkSize = 64

type chunk[T Object] struct {
	objects [chunkSize]T
	born    uint64 // the epoch in which the chunk was made or copied
}

func newObjectTable[T Object](size, indices int) *objectTable[T] {
	t := &objectTable[T]{slots: newShrinkingMap[Key, slot](size), chunks: make([]*chunk[T], 0, chunksFor(size))}
	for range indices {
		t.indices = append(t.indices, newPostings())
	}
	return t
}

// chunksFor is how many chunks hold that many slots.
func chunksFor(slots int) int { return (slots + chunkSize - 1) / chunkSize }

// len is the number of objects, and the first slot that is not used.
func (t *objectTable[T]) len() int { return t.slots.len() }

func (t *objectTable[T]) get(key Key) (object T, ok bool) {
	at, ok := t.slots.get(key)
	if !ok {
		return object, false
	}
	return t.object(at), true
}

func (t *objectTable[T]) object(at slot) T { return t.chunks[at/chunkSize].objects[at%chunkSize] }

// put stores the object, whose values for index i are values[i]. Chunks and
// posting lists that are older than epoch may be in a reader's hands.
func (t *objectTable[T]) put(key Key, object T, values [][]string, epoch uint64) (old T, existed bool) {
	at, existed := t.slots.get(key)
	if !existed {
		at = slot(t.len())
		t.slots.set(key, at)
	}
	c := t.writable(at, epoch)
	old, c.objects[at%chunkSize] = c.objects[at%chunkSize], object
	for i, index := range t.indices {
		index.set(at, values[i], epoch)
	}
	t.shrink()
	return old, existed
}

func (t *objectTable[T]) delete(key Key, epoch uint64) (old T, existed bool) {
	at, existed := t.slots.get(key)
	if !existed {
		return old, false
	}
	old = t.object(at)
	t.slots.delete(key)
	for _, index := range t.indices {
		index.set(at, nil, epoch)
	}
	last := slot(t.len())
	if at != last {
		t.move(last, at, epoch)
	}
	var none T
	t.writable(last, epoch).objects[last%chunkSize] = none
	t.dropChunks(epoch)
	t.shrink()
	return old, true
}

// move moves the object of the last slot into one that has become free.
func (t *objectTable[T]) move(last, to slot, epoch uint64) {
	object := t.object(last)
	if at, ok := t.slots.get(KeyOf(object)); !ok || at != last {
		panic(fmt.Sprintf("informer: %s in the store is not stored under its name: somebody has renamed a cached object", KeyOf(object)))
	}
	t.slots.set(KeyOf(object), to)
	t.writable(to, epoch).objects[to%chunkSize] = object
	for _, index := range t.indices {
		index.move(last, to, epoch)
	}
}

// writable returns the slot's chunk, and makes sure that no reader has it.
func (t *objectTable[T]) writable(at slot, epoch uint64) *chunk[T] {
	i := int(at / chunkSize)
	if i == len(t.chunks) {
		c := &chunk[T]{born: epoch}
		t.chunks = append(t.chunks, c) // beyond the end of every reader's slice
		return c
	}
	if c := t.chunks[i]; c.born >= epoch {
		return c
	}
	t.ownChunks(epoch)
	fresh := *t.chunks[i]
	fresh.born = epoch
	t.chunks[i] = &fresh
	return t.chunks[i]
}

// ownChunks makes sure that no reader has the slice of chunks.
func (t *objectTable[T]) ownChunks(epoch uint64) {
	if t.born < epoch {
		t.chunks, t.born = slices.Clone(t.chunks), epoch
	}
}

// dropChunks drops the chunks at the end that hold nothing, except one: an object
// that comes and goes must not cost a chunk each time.
func (t *objectTable[T]) dropChunks(epoch uint64) {
	keep := chunksFor(t.len()) + 1
	if keep >= len(t.chunks) {
		return
	}
	t.ownChunks(epoch) // the next append would overwrite what a reader has at the end
	clear(t.chunks[keep:])
	t.chunks = shrunk(t.chunks[:keep])
}

// shrunk copies a slice that uses less than a quarter of its memory into a smaller one.
func shrunk[E any](s []E) []E {
	if cap(s) <= chunkSize || len(s) > cap(s)/4 {
		return s
	}
	return append(make([]E, 0, 2*len(s)), s...)
}

// shrink takes the next step of giving memory back, if there is any to give.
func (t *objectTable[T]) shrink() {
	if t.slots.due() {
		from, to := t.slots.step(t.len())
		for at := from; at < to; at++ {
			t.slots.carry(KeyOf(t.object(slot(at))))
		}
	}
	for _, index := range t.indices {
		if index.due(t.len()) {
			index.shrink(t.len())
		}
	}
}

// index makes the index of what is in the table, in the order of the slots.
func (t *objectTable[T]) index(values IndexFunc[T]) *postings {
	index := newPostings()
	var found []string
	for at := range slot(t.len()) {
		found = values(found[:0], t.object(at))
		index.set(at, found, 0)
	}
	return index
}

// each goes through count objects in the order of their slots.
func each[T Object](chunks []*chunk[T], count int, yield func(T) bool) {
	for _, c := range chunks {
		for _, object := range c.objects[:min(count, chunkSize)] {
			if !yield(object) {
				return
			}
		}
		if count -= chunkSize; count <= 0 {
			return
		}
	}
}
