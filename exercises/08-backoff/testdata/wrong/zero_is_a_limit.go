// Bug: a generationSize of 0 leaves room for a single item.
package workqueue

func (f *failureCounter[T]) failed(item T) (before int) {
	before, known := f.young.get(item)
	if !known {
		before, _ = f.old.get(item)
		if f.young.len() >= f.generationSize {
			f.young, f.old = countTable[T]{}, f.young
		}
	}
	f.young.set(item, before+1)
	return before
}
