package informer

import (
	"math/bits"
	"slices"
)

// table is the store without its locks: objects in numbered slots, a map from
// key to slot, and an index for each index function. It is a plain data
// structure; one goroutine changes it at a time.
//
// What makes it fit for readers that do not hold a lock is copy on write, a page
// at a time. A reader takes the slice of pages, and a writer that finds a page
// older than the epoch copies it, puts the copy in its place, and changes that.
// So a reader's pages never change, and nothing is copied that is not written.
type table[T Object] struct {
	slots   map[Key]slot
	pages   []*page[T]
	born    uint64 // the epoch in which pages, the slice, was copied last
	free    []slot // given back by deleted objects
	indices []*postings
}

// pageSize is the number of slots in a page: as many as one word has bits.
const pageSize = 64

type page[T Object] struct {
	objects [pageSize]T
	used    uint64 // bit i says whether there is an object in slot i
	born    uint64 // the epoch in which the page was made or copied
}

func newTable[T Object](size, indices int) *table[T] {
	t := &table[T]{slots: make(map[Key]slot, size), pages: make([]*page[T], 0, (size+pageSize-1)/pageSize)}
	for range indices {
		t.indices = append(t.indices, newPostings())
	}
	return t
}

func (t *table[T]) get(key Key) (object T, ok bool) {
	at, ok := t.slots[key]
	if !ok {
		return object, false
	}
	return t.pages[at/pageSize].objects[at%pageSize], true
}

// put stores the object, whose values for index i are values[i]. Pages and
// posting lists that are older than epoch may be in a reader's hands.
func (t *table[T]) put(key Key, object T, values [][]string, epoch uint64) (old T, existed bool) {
	at, existed := t.slots[key]
	if !existed {
		at = t.take()
		t.slots[key] = at
	}
	p := t.writable(at, epoch)
	old = p.objects[at%pageSize]
	p.objects[at%pageSize] = object
	p.used |= 1 << (at % pageSize)
	for i, index := range t.indices {
		index.set(at, values[i], epoch)
	}
	return old, existed
}

func (t *table[T]) delete(key Key, epoch uint64) (old T, existed bool) {
	at, existed := t.slots[key]
	if !existed {
		return old, false
	}
	delete(t.slots, key)
	p := t.writable(at, epoch)
	var none T
	old, p.objects[at%pageSize] = p.objects[at%pageSize], none
	p.used &^= 1 << (at % pageSize)
	for _, index := range t.indices {
		index.set(at, nil, epoch)
	}
	t.free = append(t.free, at)
	return old, true
}

// take finds a slot for a new object: one that was given back, or the next.
func (t *table[T]) take() slot {
	if last := len(t.free) - 1; last >= 0 {
		at := t.free[last]
		t.free = t.free[:last]
		return at
	}
	return slot(len(t.slots)) // without a free slot, they are used without gaps
}

// writable returns the slot's page, and makes sure that no reader has it.
func (t *table[T]) writable(at slot, epoch uint64) *page[T] {
	i := int(at / pageSize)
	if i == len(t.pages) {
		p := &page[T]{born: epoch}
		t.pages = append(t.pages, p) // beyond the end of every reader's slice
		return p
	}
	if p := t.pages[i]; p.born >= epoch {
		return p
	}
	if t.born < epoch {
		t.pages, t.born = slices.Clone(t.pages), epoch
	}
	fresh := *t.pages[i]
	fresh.born = epoch
	t.pages[i] = &fresh
	return t.pages[i]
}

// index makes the index of what is in the table, in the order of the slots.
func (t *table[T]) index(values IndexFunc[T]) *postings {
	index := newPostings()
	var found []string
	for i, p := range t.pages {
		for used := p.used; used != 0; used &= used - 1 {
			bit := bits.TrailingZeros64(used)
			found = values(found[:0], p.objects[bit])
			index.set(slot(i*pageSize+bit), found, 0)
		}
	}
	return index
}

// each goes through the objects of pages in the order of their slots, and tells
// whether it came to the end.
func each[T Object](pages []*page[T], yield func(T) bool) bool {
	for _, p := range pages {
		for used := p.used; used != 0; used &= used - 1 {
			if !yield(p.objects[bits.TrailingZeros64(used)]) {
				return false
			}
		}
	}
	return true
}
