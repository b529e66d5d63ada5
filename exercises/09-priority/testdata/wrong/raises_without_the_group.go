// Bug: raise takes the item out of the list for all, even if there are groups.
package workqueue

func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	place, _ := l.find(e.priority)
	from := l.busy[place]
	from.n--
	from.all.remove(e)
	if from.n == 0 {
		l.drop(from)
	}
	e.priority = priority
	l.push(e)
}
