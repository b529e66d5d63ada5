// Bug: a low level has its turn one pop too late.
package workqueue

func (l *priorityLevels[T]) next() *priorityLevel[T] {
	if l.pops-l.stalest.turn > l.patience+1 {
		return l.stalest
	}
	return l.busy[0]
}
