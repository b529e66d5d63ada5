// Bug: push puts each item into the list for all, and pop looks for it in the lanes.
package workqueue

func (l *priorityLevels[T]) push(e *entry[T]) {
	place, found := l.find(e.priority)
	if !found {
		l.insert(place, e.priority)
	}
	to := l.busy[place]
	to.n++
	to.all.append(e)
}
