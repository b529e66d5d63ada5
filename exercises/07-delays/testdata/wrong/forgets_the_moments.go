// Bug: before compares the numbers even if the moments differ.
package workqueue

func (a heapItem[T]) before(b heapItem[T]) bool {
	return a.at < b.at || a.alarm.heapOrder < b.alarm.heapOrder
}
