// Bug: a list in a reader's hands is shortened in place when its last slot leaves; the next append lands in the reader's list.
package informer

func (p *postings) leave(s slot, mine *posting, epoch uint64) {
	list, gap := mine.list, mine.at
	p.forget(s, mine)
	last := len(list.slots) - 1
	if moved := list.slots[last]; moved != s {
		list.own(epoch)
		list.slots[gap] = moved
		p.postingIn(moved, list.value).at = gap
	}
	list.slots = shrunk(list.slots[:last])
	if last == 0 {
		p.lists.delete(list.value)
	}
}
