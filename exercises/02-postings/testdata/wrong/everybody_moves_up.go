// Bug: everything behind a slot that leaves moves up, and gets new numbers.
package informer

import "slices"

func (p *postings) leave(s slot, mine *posting, epoch uint64) {
	list, gap := mine.list, mine.at
	p.forget(s, mine)
	list.own(epoch)
	last := len(list.slots) - 1
	list.slots = slices.Delete(list.slots, int(gap), int(gap)+1)
	for at := int(gap); at < last; at++ {
		p.postingIn(list.slots[at], list.value).at = uint32(at)
	}
	if last == 0 {
		p.lists.delete(list.value)
	}
}
