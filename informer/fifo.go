package informer

// fifo is a queue with one place for each key: who is in it already keeps the
// place. So it is never longer than there are keys, however fast it is filled.
//
// The zero fifo is empty. It has no lock and no goroutine.
type fifo[V any] struct {
	line[Key, V]
	places map[Key]*queued[Key, V]
	most   int // the most places since the map was made
}

// find returns the key's place, or nil.
func (f *fifo[V]) find(key Key) *queued[Key, V] { return f.places[key] }

// push makes a place for the key at the end. The key must not have one.
func (f *fifo[V]) push(key Key) *queued[Key, V] {
	if f.places == nil {
		f.places = map[Key]*queued[Key, V]{}
	}
	q := f.line.push(key)
	f.places[key] = q
	f.most = max(f.most, f.length)
	return q
}

// remove takes a place out of the queue, from wherever it is. It must not be used
// afterwards.
func (f *fifo[V]) remove(q *queued[Key, V]) {
	delete(f.places, q.key)
	f.line.remove(q)
	if f.length == 0 && f.most > keepPlaces { // a Go map never shrinks
		f.places, f.most = nil, 0
	}
}
