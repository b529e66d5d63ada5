// Bug: pop leaves a level among the busy ones when it takes its last item.
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
	return e
}
