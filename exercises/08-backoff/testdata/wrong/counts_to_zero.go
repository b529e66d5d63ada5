// Bug: forget sets the count to zero, and the item still takes its room.
package workqueue

func (f *failureCounter[T]) forget(item T) {
	f.young.set(item, 0)
	f.old.remove(item)
}
