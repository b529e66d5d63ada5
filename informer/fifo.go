package informer

// fifo is a queue with one place for each key: who is in it already keeps the
// place. So it is never longer than there are keys, however fast it is filled.
//
// The zero fifo is empty. It has no lock and no goroutine.
type fifo[V any] struct {
	places      map[Key]*queued[V]
	front, back *queued[V]
	spare       *queued[V] // places to be used again, linked by after
	spares      int
	most        int // the most places since the map was made
}

// queued is a place in the queue.
type queued[V any] struct {
	key           Key
	value         V
	before, after *queued[V]
}

// keepPlaces is how many places an empty fifo keeps. After the flood of a relist
// the rest goes back to the garbage collector.
const keepPlaces = 512

func (f *fifo[V]) len() int { return len(f.places) }

// find returns the key's place, or nil.
func (f *fifo[V]) find(key Key) *queued[V] { return f.places[key] }

// push makes a place for the key at the end. The key must not have one.
func (f *fifo[V]) push(key Key) *queued[V] {
	q := f.spare
	if q == nil {
		q = &queued[V]{}
	} else {
		f.spare, q.after = q.after, nil
		f.spares--
	}
	q.key, q.before = key, f.back
	if f.back == nil {
		f.front = q
	} else {
		f.back.after = q
	}
	f.back = q
	if f.places == nil {
		f.places = map[Key]*queued[V]{}
	}
	f.places[key] = q
	f.most = max(f.most, len(f.places))
	return q
}

// remove takes a place out of the queue, from wherever it is. It must not be used
// afterwards.
func (f *fifo[V]) remove(q *queued[V]) {
	if q.before == nil {
		f.front = q.after
	} else {
		q.before.after = q.after
	}
	if q.after == nil {
		f.back = q.before
	} else {
		q.after.before = q.before
	}
	delete(f.places, q.key)
	*q = queued[V]{} // lets go of the objects
	if f.spares < keepPlaces {
		q.after, f.spare = f.spare, q
		f.spares++
	}
	if len(f.places) == 0 && f.most > keepPlaces { // a Go map never shrinks
		f.places, f.most = nil, 0
	}
}
