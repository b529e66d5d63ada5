// Bug: raise moves the entry, but does not set its priority.
package workqueue

func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	place, _ := l.find(e.priority)
	from := l.busy[place]
	from.n--
	if !l.grouped {
		from.all.remove(e)
	} else {
		from.lanes.remove(e)
	}
	if from.n == 0 {
		l.drop(from)
	}
	old := e.priority
	e.priority = priority
	l.push(e)
	e.priority = old
}
