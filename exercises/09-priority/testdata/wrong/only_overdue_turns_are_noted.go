// Bug: pop notes the turn of a level only if the level was overdue.
package workqueue

func (l *priorityLevels[T]) pop() *entry[T] {
	l.pops++
	from := l.next()
	if from == l.stalest {
		l.served(from)
		from.turn = l.pops
	}
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
