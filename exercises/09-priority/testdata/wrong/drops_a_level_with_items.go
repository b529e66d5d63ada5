// Bug: pop drops the level that it served, even if items are left in it.
package workqueue

func (l *priorityLevels[T]) pop() *entry[T] {
	l.pops++
	from := l.next()
	if len(l.busy) > 1 {
		l.served(from)
	}
	from.turn = l.pops
	from.n--
	var e *entry[T]
	if !l.grouped {
		e = from.all.first
		from.all.remove(e)
	} else {
		e = from.lanes.pop()
	}
	l.drop(from)
	return e
}
