// Bug: the level that waited longest always comes first.
package workqueue

func (l *priorityLevels[T]) next() *priorityLevel[T] {
	return l.stalest
}
