// Bug: when the young generation is full, everything is forgotten.
package workqueue

func (f *failureCounter[T]) failed(item T) (before int) {
	before, known := f.young.get(item)
	if !known {
		before, _ = f.old.get(item)
		if f.generationSize > 0 && f.young.len() >= f.generationSize {
			f.young, f.old = countTable[T]{}, countTable[T]{}
		}
	}
	f.young.set(item, before+1)
	return before
}
