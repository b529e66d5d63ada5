// Bug: raise counts as a turn of the level that loses the item.
package workqueue

func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	place, _ := l.find(e.priority)
	from := l.busy[place]
	from.n--
	from.turn = l.pops
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
