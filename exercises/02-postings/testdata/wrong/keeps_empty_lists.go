// Bug: the list of a value stays when its last object has left.
package informer

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
}
