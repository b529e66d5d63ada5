// Bug: a full generation makes room even for an item that is in it.
package workqueue

func (f *failureCounter[T]) failed(item T) (before int) {
	before = f.count(item)
	if f.generationSize > 0 && f.young.len() >= f.generationSize {
		f.young, f.old = countTable[T]{}, f.young
	}
	f.young.set(item, before+1)
	return before
}
