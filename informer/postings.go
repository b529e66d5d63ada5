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
// client-go asks the index function again what values the *old* object had, to
// know which sets to take the key out of. If somebody changed that object, the
// key stays behind in a set. Here every slot remembers where it stands.
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
	first := p.first(s)
	if len(values) == 1 && first.bucket != nil && first.bucket.value == values[0] && len(p.more[s]) == 0 {
		return // most updates change no indexed value
	}
	for stray := p.stray(s, values); stray != nil; stray = p.stray(s, values) {
		p.leave(s, stray, epoch)
	}
	for _, value := range values {
		if p.placeIn(s, value) == nil {
			p.enter(s, value)
		}
	}
}

// enter appends the slot to the value's list. Nothing is copied on behalf of
// readers: theirs ends before the new element.
func (p *postings) enter(s slot, value string) {
	b := p.buckets[value]
	if b == nil {
		b = &bucket{value: value}
		p.buckets[value] = b
	}
	b.slots = append(b.slots, s)
	at := place{bucket: b, at: uint32(len(b.slots) - 1)}
	if first := p.first(s); first.bucket == nil {
		*first = at
	} else {
		p.more[s] = append(p.more[s], at)
	}
}

// stray finds a place of the slot in the list of none of these values.
func (p *postings) stray(s slot, values []string) *place {
	if first := p.first(s); first.bucket != nil && !slices.Contains(values, first.bucket.value) {
		return first
	}
	more := p.more[s]
	for i := range more {
		if !slices.Contains(values, more[i].bucket.value) {
			return &more[i]
		}
	}
	return nil
}

// leave takes the slot out of a list, in constant time: the last slot of the
// list moves into the gap, and is told so.
func (p *postings) leave(s slot, mine *place, epoch uint64) {
	b, gap := mine.bucket, mine.at
	p.forget(s, mine)
	if b.born < epoch {
		b.slots, b.born = slices.Clone(b.slots), epoch
	}
	last := len(b.slots) - 1
	if moved := b.slots[last]; moved != s {
		b.slots[gap] = moved
		p.placeIn(moved, b.value).at = gap
	}
	b.slots = b.slots[:last]
	if last == 0 {
		delete(p.buckets, b.value)
	}
}

// first is the place of the slot's first value, to be read or written.
func (p *postings) first(s slot) *place {
	for int(s)/pageSize >= len(p.pages) {
		p.pages = append(p.pages, new([pageSize]place))
	}
	return &p.pages[s/pageSize][s%pageSize]
}

// placeIn finds where the slot stands in the value's list; nil if it does not.
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

// forget drops one of the slot's places. If it was the first, the last takes
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
