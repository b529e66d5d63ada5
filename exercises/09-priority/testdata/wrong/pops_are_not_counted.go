// Bug: nothing counts the pops, so no level ever waits too long.
package workqueue

func (l *priorityLevels[T]) pop() *entry[T] {
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
	if from.n == 0 {
		l.drop(from)
	}
	return e
}
