// Bug: next serves the lowest level when another has waited too long.
package workqueue

func (l *priorityLevels[T]) next() *priorityLevel[T] {
	if l.pops-l.stalest.turn > l.patience {
		return l.busy[len(l.busy)-1]
	}
	return l.busy[0]
}
