// Bug: a value that comes twice puts the object into its list twice.
package informer

func (p *postings) set(s slot, values []string, epoch uint64) {
	first := p.first(s)
	if len(values) == 1 && first.list != nil && first.list.value == values[0] && !p.hasOthers(s) {
		return
	}
	for stale := p.stale(s, values); stale != nil; stale = p.stale(s, values) {
		p.leave(s, stale, epoch)
	}
	var missing []string
	for _, value := range values {
		if p.postingIn(s, value) == nil {
			missing = append(missing, value)
		}
	}
	for _, value := range missing {
		p.enter(s, value)
	}
}
