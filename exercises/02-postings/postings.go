package informer

import "slices"

// slot is the number of an object's place in a table. An object keeps its slot
// as long as it is in the table; afterwards another object may get it.
type slot uint32

// postings is one index: which slots have which value. The name is that of the
// lists at the end of a book's index.
//
// It knows nothing of objects. It is told what values a slot has, and answers
// with the slots of a value. It has no lock; see generation for how a reader can
// use a list that it was given while a writer goes on.
//
// Every slot remembers where it stands, so that it can leave in constant time.
type postings struct {
	buckets map[string]*bucket // never holds an empty one
	pages   []*[pageSize]place // the place of a slot's first value
	more    map[slot][]place   // the places of its other values, for the few that have any
}

// bucket is the posting list of one value.
type bucket struct {
	value string
	slots []slot // each once, in no particular order
	born  uint64 // the epoch in which slots was copied last
}

// place is where a slot stands: bucket.slots[at] is the slot. The zero place is
// nowhere.
type place struct {
	bucket *bucket
	at     uint32
}

func newPostings() *postings {
	return &postings{buckets: map[string]*bucket{}, more: map[slot][]place{}}
}

// lookup returns the slots that have the value. The caller must not change it,
// and set never does within its length if it is called with a later epoch.
func (p *postings) lookup(value string) []slot {
	if b := p.buckets[value]; b != nil {
		return b.slots
	}
	return nil
}

// set makes the slot have exactly these values; none takes it out of the index.
// A value that comes twice counts once.
//
// A list that is older than epoch may be in a reader's hands, and is copied
// before an element of it changes or is cut off. Epoch 0 says that there are no
// readers.
func (p *postings) set(s slot, values []string, epoch uint64) {
	// TODO: take the slot out of the lists of the values that it no longer has,
	// and append it to the lists of those that it did not have before.
	_ = slices.Contains(values, "") // you will need this package
}

// Given: first is the place of the slot's first value, to be read or written.
func (p *postings) first(s slot) *place {
	for int(s)/pageSize >= len(p.pages) {
		p.pages = append(p.pages, new([pageSize]place))
	}
	return &p.pages[s/pageSize][s%pageSize]
}

// Given: placeIn finds where the slot stands in the value's list; nil if it does not.
func (p *postings) placeIn(s slot, value string) *place {
	if first := p.first(s); first.bucket != nil && first.bucket.value == value {
		return first
	}
	more := p.more[s]
	for i := range more {
		if more[i].bucket.value == value {
			return &more[i]
		}
	}
	return nil
}

// Given: forget drops one of the slot's places. If it was the first, the last takes
// its turn.
func (p *postings) forget(s slot, gone *place) {
	more := p.more[s]
	if len(more) == 0 {
		*gone = place{}
		return
	}
	*gone = more[len(more)-1]
	if more = more[:len(more)-1]; len(more) == 0 {
		delete(p.more, s)
	} else {
		p.more[s] = more
	}
}
