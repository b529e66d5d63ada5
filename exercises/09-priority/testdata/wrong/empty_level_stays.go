// Bug: a level whose last item is raised stays among the busy ones.
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
	e.priority = priority
	l.push(e)
}
