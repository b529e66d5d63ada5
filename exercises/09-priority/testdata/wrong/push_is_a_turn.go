// Bug: push counts as a turn, so a level that is added to all the time never waits too long.
package workqueue

func (l *priorityLevels[T]) push(e *entry[T]) {
	place, found := l.find(e.priority)
	if !found {
		l.insert(place, e.priority)
	}
	to := l.busy[place]
	to.n++
	to.turn = l.pops
	if !l.grouped {
		to.all.append(e)
	} else {
		to.lanes.push(e)
	}
}
