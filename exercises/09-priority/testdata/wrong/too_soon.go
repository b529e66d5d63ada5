// Bug: a low level has its turn one pop too early.
package workqueue

func (l *priorityLevels[T]) next() *priorityLevel[T] {
	if l.pops-l.stalest.turn >= l.patience {
		return l.stalest
	}
	return l.busy[0]
}
