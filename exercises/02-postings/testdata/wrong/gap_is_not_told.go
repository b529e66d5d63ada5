// Bug: the posting of the slot that moves into a gap keeps the old position.
package informer

func (p *postings) leave(s slot, mine *posting, epoch uint64) {
	list, gap := mine.list, mine.at
	p.forget(s, mine)
	list.own(epoch)
	last := len(list.slots) - 1
	if moved := list.slots[last]; moved != s {
		list.slots[gap] = moved
	}
	list.slots = shrunk(list.slots[:last])
	if last == 0 {
		p.lists.delete(list.value)
	}
}
