// Bug: next looks only at the lowest level, so those in the middle starve.
package workqueue

func (l *priorityLevels[T]) next() *priorityLevel[T] {
	if lowest := l.busy[len(l.busy)-1]; l.pops-lowest.turn > l.patience {
		return lowest
	}
	return l.busy[0]
}
