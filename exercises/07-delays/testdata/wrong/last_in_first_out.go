// Bug: of the alarms that are due at the same moment, the newest goes off first.
package workqueue

func (a heapItem[T]) before(b heapItem[T]) bool {
	return a.at < b.at || a.at == b.at && a.alarm.heapOrder > b.alarm.heapOrder
}
