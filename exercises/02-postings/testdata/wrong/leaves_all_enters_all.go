// Bug: an object leaves all its lists and enters them again, whatever has changed.
package informer

func (p *postings) set(s slot, values []string, epoch uint64) {
	first := p.first(s)
	if len(values) == 1 && first.list != nil && first.list.value == values[0] && !p.hasOthers(s) {
		return
	}
	for stale := p.stale(s, nil); stale != nil; stale = p.stale(s, nil) {
		p.leave(s, stale, epoch)
	}
	for _, value := range values {
		if p.postingIn(s, value) == nil {
			p.enter(s, value)
		}
	}
}
