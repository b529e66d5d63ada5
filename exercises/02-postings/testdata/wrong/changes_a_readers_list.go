// Bug: a list in a reader's hands is changed in place.
package informer

func (p *postings) leave(s slot, mine *posting, epoch uint64) {
	list, gap := mine.list, mine.at
	p.forget(s, mine)
	last := len(list.slots) - 1
	if moved := list.slots[last]; moved != s {
		list.slots[gap] = moved
		p.postingIn(moved, list.value).at = gap
	}
	list.slots = shrunk(list.slots[:last])
	if last == 0 {
		p.lists.delete(list.value)
	}
}
