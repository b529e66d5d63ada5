package informer

// notificationQueue holds the notifications that a listener has not taken yet, in the
// order in which their objects first had news. It is never longer than the number of
// objects that the listener knows and of those that there are, together.
//
// A notification is found by the slot that the object has in the informer's store:
// one look into an array. With ten listeners, maps from keys would need thirty
// lookups for each change, about a third of what a change costs. The array takes 8
// bytes for each object in the store, and shrinks with it.
//
// The zero notificationQueue is empty. It has no lock and no goroutine.
type notificationQueue[T Object] struct {
	linkedQueue[slot, notification[T]]
	chunks  []*[chunkSize]*queueNode[slot, notification[T]] // the nodes, by slot
	initial int                                             // objects of the initial list in it
}

// slotChange says where the object of a delta is in the store.
type slotChange struct {
	at slot // the object's slot; for a Deleted, the one that it had
	// freed is, for a Deleted, the slot that no object has any more: the last one. The
	// object that had it is at the deleted one's slot now, if it is another object.
	freed slot
	// frees is false if no slot became free: nothing was deleted, or another object
	// of the same name follows at once, and takes the slot.
	frees bool
}

// add takes in a delta.
func (q *notificationQueue[T]) add(where slotChange, delta Delta[T]) {
	node := q.node(where.at)
	if node == nil || node.value.isEndOfAnother(delta) {
		node = q.push(where.at)
		q.setNode(where.at, node)
	}
	before := node.value.isInitial()
	left := node.value.add(delta)
	q.count(before, node.value.isInitial())
	if !left {
		q.leave(node)
	}
	if where.frees {
		q.moved(where.freed, where.at)
	}
}

// take moves up to most notifications to a batch.
func (q *notificationQueue[T]) take(batch []notification[T], most int) []notification[T] {
	for len(batch) < most && q.front != nil {
		front := q.front
		batch = append(batch, front.value)
		q.count(front.value.isInitial(), false)
		q.leave(front)
	}
	return batch
}

// moved follows an object from the last slot to one that has become free. A
// notification about the object that had it stays in the queue, but can no longer be
// found by slot: an object that is gone has no more news.
func (q *notificationQueue[T]) moved(last, to slot) {
	if last != to {
		node := q.node(last)
		if node != nil {
			node.key = to
			q.setNode(last, nil)
		}
		if node != nil || q.node(to) != nil {
			q.setNode(to, node)
		}
	}
	if keep := chunksFor(int(last)) + 1; keep < len(q.chunks) {
		clear(q.chunks[keep:])
		q.chunks = shrunk(q.chunks[:keep])
	}
}

// node is the node of the slot's object, or nil.
func (q *notificationQueue[T]) node(at slot) *queueNode[slot, notification[T]] {
	if i := int(at / chunkSize); i < len(q.chunks) && q.chunks[i] != nil {
		return q.chunks[i][at%chunkSize]
	}
	return nil
}

func (q *notificationQueue[T]) setNode(at slot, node *queueNode[slot, notification[T]]) {
	for int(at/chunkSize) >= len(q.chunks) {
		q.chunks = append(q.chunks, nil)
	}
	c := &q.chunks[at/chunkSize]
	if *c == nil {
		*c = new([chunkSize]*queueNode[slot, notification[T]])
	}
	(*c)[at%chunkSize] = node
}

// leave takes a node out. Its slot may belong to another object already.
func (q *notificationQueue[T]) leave(node *queueNode[slot, notification[T]]) {
	if q.node(node.key) == node {
		q.setNode(node.key, nil)
	}
	q.remove(node)
}

func (q *notificationQueue[T]) count(before, after bool) {
	if before {
		q.initial--
	}
	if after {
		q.initial++
	}
}

// isEndOfAnother reports whether this is about an object that is gone, and the delta
// about one of another name, which has got its slot.
func (n *notification[T]) isEndOfAnother(delta Delta[T]) bool {
	return delta.Type == DeltaAdded && n.deleted && KeyOf(n.last) != delta.Key
}

// isInitial reports whether it is about an object of the initial list.
func (n *notification[T]) isInitial() bool { return n.exists && n.initial }
