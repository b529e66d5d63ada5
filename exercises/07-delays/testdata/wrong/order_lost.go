// Bug: alarms that are due at the same moment go off in any order.
package workqueue

func (a heapItem[T]) before(b heapItem[T]) bool {
	return a.at < b.at
}
