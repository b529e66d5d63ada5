// Bug: raise drops the old level even if items are left in it.
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
	l.drop(from)
	e.priority = priority
	l.push(e)
}
