// Bug: raise sets the new priority first, and then looks for the entry in the wrong level.
package workqueue

func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	e.priority = priority
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
	l.push(e)
}
