package informer

// notificationQueue holds the notifications that a listener has not taken yet.
//
// By default each delta is a notification, in the order in which they came. If it coalesces, there is
// one for each key, in the order in which the keys first had news, and the queue is never longer than
// the number of keys with news. Only then does it need the keyedQueue's map.
//
// The zero notificationQueue is empty, and does not coalesce. It has no lock and no goroutine.
type notificationQueue[T Object] struct {
	keyedQueue[notification[T]]
	coalesces bool
	initial   int // objects of the initial list in it
}

// add takes in a delta.
func (q *notificationQueue[T]) add(delta Delta[T]) {
	node := q.nodeFor(delta.Key)
	q.initial -= node.value.initials()
	node.value.add(delta)
	q.initial += node.value.initials()
}

func (q *notificationQueue[T]) nodeFor(key Key) *queueNode[Key, notification[T]] {
	if !q.coalesces {
		return q.linkedQueue.push(key)
	}
	if node := q.find(key); node != nil {
		return node
	}
	return q.push(key)
}

// take moves up to most notifications to a batch.
func (q *notificationQueue[T]) take(batch []notification[T], most int) []notification[T] {
	for len(batch) < most && q.front != nil {
		batch = append(batch, q.front.value)
		q.initial -= q.front.value.initials()
		q.remove(q.front)
	}
	return batch
}

// initials is how many objects of the initial list it adds.
func (n *notification[T]) initials() (count int) {
	if n.lastInitial {
		count++
	}
	if n.exists && n.initial {
		count++
	}
	return count
}
