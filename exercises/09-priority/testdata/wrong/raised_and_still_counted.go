// Bug: raise does not count the item out of its old level.
package workqueue

func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	place, _ := l.find(e.priority)
	from := l.busy[place]
	if !l.grouped {
		from.all.remove(e)
	} else {
		from.lanes.remove(e)
	}
	if from.n == 0 {
		l.drop(from)
	}
	e.priority = priority
	l.push(e)
}
