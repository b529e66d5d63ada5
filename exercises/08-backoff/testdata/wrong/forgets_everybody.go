// Bug: forget drops the counts of all items.
package workqueue

func (f *failureCounter[T]) forget(item T) {
	f.young, f.old = countTable[T]{}, countTable[T]{}
}
