package informer

// linkedQueue is a queue whose nodes can be removed from anywhere, not only from the
// front. Its owner must remember which node is whose.
//
// The zero linkedQueue is empty. It has no lock and no goroutine.
type linkedQueue[K, V any] struct {
	front, back *queueNode[K, V]
	length      int
	spare       *queueNode[K, V] // nodes to be used again, linked by next
	spares      int
}

// queueNode is an element of a linkedQueue.
type queueNode[K, V any] struct {
	key        K
	value      V
	prev, next *queueNode[K, V]
}

const (
	// maxSpareNodes is how many nodes a queue keeps to be used again. After the flood
	// of a relist the rest goes back to the garbage collector.
	maxSpareNodes = 512
	// nodesPerAllocation is how many are made at once, which costs less than one by one. All
	// of them stay in memory as long as one of them is in use or kept.
	nodesPerAllocation = 16
)

func (l *linkedQueue[K, V]) len() int { return l.length }

// push adds a node for the key at the end.
func (l *linkedQueue[K, V]) push(key K) *queueNode[K, V] {
	if l.spare == nil {
		more := new([nodesPerAllocation]queueNode[K, V])
		for i := range more {
			l.keep(&more[i])
		}
	}
	q := l.spare
	l.spare, q.next = q.next, nil
	l.spares--
	q.key, q.prev = key, l.back
	if l.back == nil {
		l.front = q
	} else {
		l.back.next = q
	}
	l.back = q
	l.length++
	return q
}

// remove takes a node out of the queue, from wherever it is. It must not be used
// afterwards.
func (l *linkedQueue[K, V]) remove(q *queueNode[K, V]) {
	if q.prev == nil {
		l.front = q.next
	} else {
		q.prev.next = q.next
	}
	if q.next == nil {
		l.back = q.prev
	} else {
		q.next.prev = q.prev
	}
	l.length--
	*q = queueNode[K, V]{} // lets go of the objects
	if l.spares < maxSpareNodes {
		l.keep(q)
	}
}

func (l *linkedQueue[K, V]) keep(q *queueNode[K, V]) {
	q.next, l.spare = l.spare, q
	l.spares++
}
