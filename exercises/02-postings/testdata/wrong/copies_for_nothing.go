// Bug: the lists of an object are copied for readers though nothing in them changes.
package informer

func (p *postings) set(s slot, values []string, epoch uint64) {
	first := p.first(s)
	if len(values) == 1 && first.list != nil && first.list.value == values[0] && !p.hasOthers(s) {
		return
	}
	for _, value := range values {
		if list, ok := p.lists.get(value); ok {
			list.own(epoch)
		}
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
