// Bug: raise sets the priority, and leaves the entry where it is.
package workqueue

func (l *priorityLevels[T]) raise(e *entry[T], priority int) {
	e.priority = priority
}
