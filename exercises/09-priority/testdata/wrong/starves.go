// Bug: the highest level always comes first.
package workqueue

func (l *priorityLevels[T]) next() *priorityLevel[T] {
	return l.busy[0]
}
