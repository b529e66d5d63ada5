// Bug: forget leaves the count in the old generation.
package workqueue

func (f *failureCounter[T]) forget(item T) {
	f.young.remove(item)
}
