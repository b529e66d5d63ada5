// Bug: the alarms go off in the order of adding, not of their moments.
package workqueue

func (a heapItem[T]) before(b heapItem[T]) bool {
	return a.alarm.heapOrder < b.alarm.heapOrder
}
