// Bug: pop does not note at which pop a level was served.
package workqueue

func (l *priorityLevels[T]) pop() *entry[T] {
	l.pops++
	from := l.next()
	if len(l.busy) > 1 {
		l.served(from)
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
