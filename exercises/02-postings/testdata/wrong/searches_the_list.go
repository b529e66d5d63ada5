// Bug: a slot is searched for in the whole list, and none learns where it stands.

package informer

import "slices"

type slot uint32
type postings struct {
	buckets map[string]*bucket
	pages   []*[pageSize]place
	more    map[slot][]place
}
type bucket struct {
	value string
	slots []slot
	born  uint64
}
type place struct {
	bucket *bucket
	at     uint32
}

func newPostings() *postings {
	return &postings{buckets: map[string]*bucket{}, more: map[slot][]place{}}
}
func (p *postings) lookup(value string) []slot {
	if b := p.buckets[value]; b != nil {
		return b.slots
	}
	return nil
}
func (p *postings) set(s slot, values []string, epoch uint64) {
	first := p.first(s)
	if len(values) == 1 && first.bucket != nil && first.bucket.value == values[0] && len(p.more[s]) == 0 {
		return
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
func (p *postings) leave(s slot, mine *place, epoch uint64) {
	b := mine.bucket
	p.forget(s, mine)
	if b.born < epoch {
		b.slots, b.born = slices.Clone(b.slots), epoch
	}
	last := len(b.slots) - 1
	b.slots[slices.Index(b.slots, s)] = b.slots[last]
	b.slots = b.slots[:last]
	if last == 0 {
		delete(p.buckets, b.value)
	}
}
func (p *postings) first(s slot) *place {
	for int(s)/pageSize >= len(p.pages) {
		p.pages = append(p.pages, new([pageSize]place))
	}
	return &p.pages[s/pageSize][s%pageSize]
}
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
