package informer

// move gives the values of one slot to another, which has none: its object has
// moved there. From then on, a lookup finds the new slot.
//
// A list that is older than epoch is copied first, as in set.
func (p *postings) move(from, to slot, epoch uint64) {
	first := p.first(from)
	first.point(to, epoch)
	*p.first(to), *first = *first, posting{}
	others, ok := p.others.get(from)
	if !ok {
		return
	}
	for i := range others {
		others[i].point(to, epoch)
	}
	p.others.set(to, others)
	p.others.delete(from)
}

// point makes the list's element at the posting's position name another slot.
func (p *posting) point(to slot, epoch uint64) {
	if p.list != nil {
		p.list.own(epoch)
		p.list.slots[p.at] = to
	}
}

// due reports whether there is memory to give back. slots is how many there are now.
func (p *postings) due(slots int) bool {
	return p.lists.due() || p.others.due() || len(p.chunks) > chunksFor(slots)+1
}

// shrink takes the next step of giving it back.
func (p *postings) shrink(slots int) {
	if keep := chunksFor(slots) + 1; keep < len(p.chunks) {
		clear(p.chunks[keep:])
		p.chunks = shrunk(p.chunks[:keep])
	}
	if p.others.due() {
		from, to := p.others.step(slots)
		for at := from; at < to; at++ {
			p.others.carry(slot(at))
		}
	}
	if !p.lists.due() {
		return
	}
	from, to := p.lists.step(slots)
	for at := from; at < to; at++ {
		if first := p.first(slot(at)); first.list != nil {
			p.lists.carry(first.list.value)
		}
		others, _ := p.others.get(slot(at))
		for _, other := range others {
			p.lists.carry(other.list.value)
		}
	}
}
