// Bug: push does not count the items of a level.
package workqueue

func (l *priorityLevels[T]) push(e *entry[T]) {
	place, found := l.find(e.priority)
	if !found {
		l.insert(place, e.priority)
	}
	to := l.busy[place]
	if !l.grouped {
		to.all.append(e)
	} else {
		to.lanes.push(e)
	}
}
