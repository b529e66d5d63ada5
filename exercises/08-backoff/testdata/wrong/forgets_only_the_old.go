// Bug: forget leaves the count in the young generation.
package workqueue

func (f *failureCounter[T]) forget(item T) {
	f.old.remove(item)
}
