package informer

// line is a queue that can be left from anywhere, and not only at its front. Who
// stands where, its owner must remember.
//
// The zero line is empty. It has no lock and no goroutine.
type line[K, V any] struct {
	front, back *queued[K, V]
	length      int
	spare       *queued[K, V] // places to be used again, linked by after
	spares      int
}

// queued is a place in a line.
type queued[K, V any] struct {
	key           K
	value         V
	before, after *queued[K, V]
}

const (
	// keepPlaces is how many places a line keeps to be used again. After the flood
	// of a relist the rest goes back to the garbage collector.
	keepPlaces = 512
	// morePlaces is how many are made at once, which is cheaper than one by one. All
	// of them stay in memory as long as one of them is taken or kept.
	morePlaces = 16
)

func (l *line[K, V]) len() int { return l.length }

// push makes a place for the key at the end.
func (l *line[K, V]) push(key K) *queued[K, V] {
	if l.spare == nil {
		more := new([morePlaces]queued[K, V])
		for i := range more {
			l.keep(&more[i])
		}
	}
	q := l.spare
	l.spare, q.after = q.after, nil
	l.spares--
	q.key, q.before = key, l.back
	if l.back == nil {
		l.front = q
	} else {
		l.back.after = q
	}
	l.back = q
	l.length++
	return q
}

// remove takes a place out of the line, from wherever it is. It must not be used
// afterwards.
func (l *line[K, V]) remove(q *queued[K, V]) {
	if q.before == nil {
		l.front = q.after
	} else {
		q.before.after = q.after
	}
	if q.after == nil {
		l.back = q.before
	} else {
		q.after.before = q.before
	}
	l.length--
	*q = queued[K, V]{} // lets go of the objects
	if l.spares < keepPlaces {
		l.keep(q)
	}
}

func (l *line[K, V]) keep(q *queued[K, V]) {
	q.after, l.spare = l.spare, q
	l.spares++
}
