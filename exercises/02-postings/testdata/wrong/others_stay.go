// Bug: an object that has one value again keeps the others that it had.
package informer

func (p *postings) set(s slot, values []string, epoch uint64) {
	first := p.first(s)
	if len(values) == 1 && first.list != nil && first.list.value == values[0] {
		return
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
