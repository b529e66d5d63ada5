// Bug: push makes a new level for each item.
package workqueue

func (l *priorityLevels[T]) push(e *entry[T]) {
	place, _ := l.find(e.priority)
	l.insert(place, e.priority)
	to := l.busy[place]
	to.n++
	if !l.grouped {
		to.all.append(e)
	} else {
		to.lanes.push(e)
	}
}
