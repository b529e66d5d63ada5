// Bug: the count is read after the old generation was dropped.
package workqueue

func (f *failureCounter[T]) failed(item T) (before int) {
	before, known := f.young.get(item)
	if !known {
		if f.generationSize > 0 && f.young.len() >= f.generationSize {
			f.young, f.old = countTable[T]{}, f.young
		}
		before, _ = f.old.get(item)
	}
	f.young.set(item, before+1)
	return before
}
