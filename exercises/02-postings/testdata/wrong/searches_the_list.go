// Bug: a slot is searched for in the whole list, and the one that moves keeps its old position.
package informer

import "slices"

func (p *postings) leave(s slot, mine *posting, epoch uint64) {
	list := mine.list
	p.forget(s, mine)
	list.own(epoch)
	last := len(list.slots) - 1
	list.slots[slices.Index(list.slots, s)] = list.slots[last]
	list.slots = shrunk(list.slots[:last])
	if last == 0 {
		p.lists.delete(list.value)
	}
}
