package informer

import "slices"

// slot is an object's number in a table. The object keeps its slot until it is
// deleted, or until another one is deleted and it has to fill the gap.
type slot uint32

// postings is one index: which slots have which value. A posting list is, as in
// the index of a book, the list of everything that a word leads to.
//
// It knows nothing of objects. set says what values a slot has, and lookup returns
// the slots of a value. It has no lock; see generation for how a reader can use a
// list while a writer changes it.
//
// client-go calls the index function a second time, for the *old* object, to know
// which sets to take the key out of. If somebody has changed that object, the key
// stays behind in a set. Here every slot remembers the lists that it is in.
type postings struct {
	lists  shrinkingMap[string, *postingList] // never holds an empty one
	chunks []*[chunkSize]posting              // each slot's first posting
	others shrinkingMap[slot, []posting]      // its other postings, for the few slots that have several values
}

// postingList is the posting list of one value.
type postingList struct {
	value string
	slots []slot // each once, in no particular order
	born  uint64 // the epoch in which slots was copied last
}

// posting says where a slot is in a list: list.slots[at] is the slot. The zero
// posting is in no list.
type posting struct {
	list *postingList
	at   uint32
}

func newPostings() *postings {
	return &postings{lists: newShrinkingMap[string, *postingList](0), others: newShrinkingMap[slot, []posting](0)}
}

// lookup returns the slots that have the value. The caller must not change the
// slice, and no later write with a later epoch changes it.
func (p *postings) lookup(value string) []slot {
	if list, ok := p.lists.get(value); ok {
		return list.slots
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
	if len(values) == 1 && first.list != nil && first.list.value == values[0] && !p.hasOthers(s) {
		return // most updates change no indexed value
	}
	for stale := p.stale(s, values); stale != nil; stale = p.stale(s, values) {
		p.leave(s, stale, epoch)
	}
	for _, value := range values {
		if p.postingIn(s, value) == nil {
			p.enter(s, value)
		}
	}
}

// enter appends the slot to the value's list. Nothing is copied on behalf of
// readers: theirs ends before the new element.
func (p *postings) enter(s slot, value string) {
	list, ok := p.lists.get(value)
	if !ok {
		list = &postingList{value: value}
		p.lists.set(value, list)
	}
	list.slots = append(list.slots, s)
	entered := posting{list: list, at: uint32(len(list.slots) - 1)}
	if first := p.first(s); first.list == nil {
		*first = entered
		return
	}
	others, _ := p.others.get(s)
	p.others.set(s, append(others, entered))
}

// stale finds a posting of the slot whose value is none of these.
func (p *postings) stale(s slot, values []string) *posting {
	if first := p.first(s); first.list != nil && !slices.Contains(values, first.list.value) {
		return first
	}
	others, _ := p.others.get(s)
	for i := range others {
		if !slices.Contains(values, others[i].list.value) {
			return &others[i]
		}
	}
	return nil
}

// leave takes the slot out of a list, in constant time: the last slot of the
// list moves into the gap, and its posting says so.
func (p *postings) leave(s slot, mine *posting, epoch uint64) {
	list, gap := mine.list, mine.at
	p.forget(s, mine)
	list.own(epoch)
	last := len(list.slots) - 1
	if moved := list.slots[last]; moved != s {
		list.slots[gap] = moved
		p.postingIn(moved, list.value).at = gap
	}
	list.slots = shrunk(list.slots[:last])
	if last == 0 {
		p.lists.delete(list.value)
	}
}

// own makes sure that no reader has the list's slots.
func (l *postingList) own(epoch uint64) {
	if l.born < epoch {
		l.slots, l.born = slices.Clone(l.slots), epoch
	}
}

// first is the slot's first posting, to be read or written.
func (p *postings) first(s slot) *posting {
	for int(s)/chunkSize >= len(p.chunks) {
		p.chunks = append(p.chunks, new([chunkSize]posting))
	}
	return &p.chunks[s/chunkSize][s%chunkSize]
}

// postingIn finds the slot's posting in the value's list; nil if it is not in it.
func (p *postings) postingIn(s slot, value string) *posting {
	if first := p.first(s); first.list != nil && first.list.value == value {
		return first
	}
	others, _ := p.others.get(s)
	for i := range others {
		if others[i].list.value == value {
			return &others[i]
		}
	}
	return nil
}

// forget drops one of the slot's postings. If it was the first, the last of the
// others takes its place.
func (p *postings) forget(s slot, gone *posting) {
	others, _ := p.others.get(s)
	if len(others) == 0 {
		*gone = posting{}
		return
	}
	last := len(others) - 1
	*gone, others[last] = others[last], posting{} // lets go of the list
	if last == 0 {
		p.others.delete(s)
	} else {
		p.others.set(s, others[:last])
	}
}

func (p *postings) hasOthers(s slot) bool {
	_, ok := p.others.get(s)
	return ok
}
