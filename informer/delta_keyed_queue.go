package informer

// keyedQueue is a queue that finds the newest node of a key. An owner that looks before it
// pushes has one node for each key: a key that is already in it keeps its position, and the
// queue is never longer than the number of keys, however fast it is filled.
//
// The zero keyedQueue is empty. It has no lock and no goroutine.
type keyedQueue[V any] struct {
	linkedQueue[Key, V]
	nodes map[Key]*queueNode[Key, V] // the newest of each key
	peak  int                        // the most nodes since the map was made
}

// find returns the key's newest node, or nil.
func (f *keyedQueue[V]) find(key Key) *queueNode[Key, V] { return f.nodes[key] }

// push adds a node for the key at the end.
func (f *keyedQueue[V]) push(key Key) *queueNode[Key, V] {
	if f.nodes == nil {
		f.nodes = map[Key]*queueNode[Key, V]{}
	}
	q := f.linkedQueue.push(key)
	f.nodes[key] = q
	f.peak = max(f.peak, f.length)
	return q
}

// remove takes a node out of the queue, from wherever it is. It must not be used
// afterwards. If the key has a newer one, that is returned.
func (f *keyedQueue[V]) remove(q *queueNode[Key, V]) (newer *queueNode[Key, V]) {
	if newest := f.nodes[q.key]; newest == q {
		delete(f.nodes, q.key)
	} else {
		newer = newest
	}
	f.linkedQueue.remove(q)
	if f.length == 0 && f.peak > maxSpareNodes { // a Go map never shrinks
		f.nodes, f.peak = nil, 0
	}
	return newer
}
