// Bug: a level that has had its turn stays the stalest.
package workqueue

func (l *priorityLevels[T]) pop() *entry[T] {
	l.pops++
	from := l.next()
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
